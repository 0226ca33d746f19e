# SPDX-License-Identifier: BSD-3-Clause
"""The messages of tests/data, and captures of Sends."""
import struct
from pathlib import Path

from kit.wire import iwarp
from kit.wire.pcap import CLIENT, SERVER, Capture, Stream, checksum

DATA = Path(__file__).resolve().parents[3] / "data"
ROCE_PORT = 4791
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY, SEND_LAST_INVALIDATE, SEND_ONLY_INVALIDATE = 0, 1, 2, 4, 22, 23


def vectors(file="v2.hex"):
    """The messages by name."""
    found, name = {}, None
    for line in (DATA / file).read_text().splitlines():
        if line.endswith(":"):
            name = line[:-1]
            found[name] = b""
        elif line and not line.startswith("#"):
            found[name] += bytes.fromhex(line.replace(" ", ""))
    return found


def capture_on_iwarp(path, sends, largest=60000):
    """Writes one direction of a connection: each Send in segments of at most `largest` bytes, each segment in one
    packet. Returns the index of the last packet of each Send."""
    capture = Capture(path)
    stream = Stream(capture, 40000)
    stream.write(CLIENT, iwarp.mpa_request())
    stream.write(SERVER, iwarp.mpa_request(key=iwarp.REPLY_KEY))
    packets = 5  # of the set-up of TCP and MPA
    last_packets = []
    for msn, send in enumerate(sends, 1):
        for offset in range(0, len(send), largest):
            part = send[offset:offset + largest]
            last = offset + largest >= len(send)
            stream.write(CLIENT, iwarp.fpdu(iwarp.untagged(iwarp.SEND, iwarp.SEND_QUEUE, msn, part, offset, last)))
            packets += 1
        last_packets.append(packets - 1)
    capture.close()
    return last_packets


def _roce(opcode, number, payload):
    """A packet of RoCE version 2, with zeros for its checksums."""
    packet = struct.pack(">BBHII", opcode, 0x40, 0xFFFF, 0x11, number) + payload + bytes(4)
    packet = struct.pack(">HHHH", 49152, ROCE_PORT, 8 + len(packet), 0) + packet
    addresses = b"\x0a\0\0\1\x0a\0\0\2"
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(packet), 0, 0x4000, 64, 17, 0) + addresses
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + packet


def capture_on_roce(path, sends, largest=60000, invalidate=False):
    """Writes one direction of a connection on RoCE; with `invalidate` each Send is a Send with Invalidate. Returns the
    index of the last packet of each Send."""
    capture = Capture(path)
    number, last_packets = 0xFFFFFE, []
    handle = struct.pack(">I", 0x77) if invalidate else b""
    packets = 0
    for send in sends:
        for offset in range(0, len(send), largest):
            part = send[offset:offset + largest]
            first, last = offset == 0, offset + largest >= len(send)
            if last:
                opcode = (SEND_ONLY_INVALIDATE if invalidate else SEND_ONLY) if first else (
                    SEND_LAST_INVALIDATE if invalidate else SEND_LAST)
                part = handle + part
            else:
                opcode = SEND_FIRST if first else SEND_MIDDLE
            capture.packet(_roce(opcode, number, part))
            number = (number + 1) % (1 << 24)
            packets += 1
        last_packets.append(packets - 1)
    capture.close()
    return last_packets
