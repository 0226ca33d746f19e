# SPDX-License-Identifier: BSD-3-Clause
"""Reads captures of raw IP packets, and the RDMA messages in them."""
import struct

from kit import iwarp

SYN, RESET, FIN = 2, 4, 1


class Packet:
    """A TCP segment: its ports, flags and bytes; `whole` unless it is cut."""

    def __init__(self, octets, length, comment="", outbound=None):
        words = (octets[0] & 15) * 4 if octets[0] >> 4 == 4 else 40
        self.length = length
        self.kept = len(octets)
        self.whole = len(octets) == length
        tcp = octets[words:]
        self.source, self.destination, self.sequence, self.acknowledged = struct.unpack_from(">HHII", tcp)
        self.flags = tcp[13]
        start = (tcp[12] >> 4) * 4
        self.data = tcp[start:]
        self.size = length - words - start
        self.comment = comment
        self.outbound = outbound


def _options(octets):
    at = 0
    while at + 4 <= len(octets):
        code, size = struct.unpack_from("<HH", octets, at)
        if code == 0:
            return
        yield code, octets[at + 4:at + 4 + size]
        at += 4 + size + -size % 4


def blocks(path):
    """(type, body) of each block of a pcapng file, which must end with a whole block."""
    octets = path.read_bytes()
    at = 0
    while at < len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        if struct.unpack_from("<I", octets, at + length - 4)[0] != length or length % 4:
            raise AssertionError(f"block at {at}: length {length}")
        yield kind, octets[at + 8:at + length - 4]
        at += length


def packets(path):
    """The packets of a pcapng file."""
    for kind, body in blocks(path):
        if kind != 6:
            continue
        _, _, _, kept, length = struct.unpack_from("<IIIII", body)
        options = dict(_options(body[20 + kept + -kept % 4:]))
        flags, = struct.unpack("<I", options[2])
        yield Packet(body[20:20 + kept], length, options.get(1, b"").decode(), flags == 2)


def statistics(path):
    """(received, dropped) of the last Interface Statistics Block; None if there is none."""
    found = None
    for kind, body in blocks(path):
        if kind == 5:
            options = dict(_options(body[12:]))
            found = tuple(struct.unpack("<Q", options[code])[0] for code in (4, 5))
    return found


def pcap_packets(path):
    """The packets of a pcap file of kit.pcap."""
    octets = path.read_bytes()
    at = 24
    while at < len(octets):
        kept, length = struct.unpack_from("<II", octets, at + 8)
        yield Packet(octets[at + 16:at + 16 + kept], length)
        at += 16 + kept


class Flow:
    """The messages of one direction, by kind; Writes to consecutive places are joined."""

    def __init__(self):
        self.sends, self.writes, self.requests, self.responses = [], [], [], []
        self.parts = b""
        self.open_response = False

    def __eq__(self, other):
        return vars(self) == vars(other)

    def feed(self, fpdu):
        size, = struct.unpack_from(">H", fpdu)
        ulpdu = fpdu[2:2 + size]
        last, opcode = bool(ulpdu[0] & 0x40), ulpdu[1] & 15
        stag, = struct.unpack_from(">I", ulpdu, 2)
        if opcode == iwarp.WRITE:
            offset, = struct.unpack_from(">Q", ulpdu, 6)
            self._write(stag, offset, ulpdu[14:])
        elif opcode == iwarp.READ_RESPONSE:
            if not self.open_response:
                self.responses.append(b"")
            self.responses[-1] += ulpdu[14:]
            self.open_response = not last
        elif opcode == iwarp.READ_REQUEST:
            self.requests.append(struct.unpack_from(">IIQ", ulpdu, 18 + 12))  # without the sink
        else:
            self.parts += ulpdu[18:]
            if last:
                # A program does not learn whether an arriving Send was solicited.
                invalidates = opcode in (iwarp.SEND_INVALIDATE, 6)
                self.sends.append((stag if invalidates else None, self.parts))
                self.parts = b""

    def _write(self, stag, offset, data):
        if self.writes and self.writes[-1][0] == stag and self.writes[-1][1] + len(self.writes[-1][2]) == offset:
            self.writes[-1] = (stag, self.writes[-1][1], self.writes[-1][2] + data)
        elif data:
            self.writes.append((stag, offset, data))


def connections(packets_of_file, server_ports):
    """[(flow of the client, flow of the server, private data of both)] of each connection, in order of their SYN."""
    found = {}
    for packet in packets_of_file:
        from_server = packet.source in server_ports
        client = packet.destination if from_server else packet.source
        if packet.flags & SYN and not from_server and client not in found:
            found[client] = ([Flow(), Flow()], [None, None])
        if not packet.data or client not in found:
            continue
        flows, startup = found[client]
        if startup[from_server] is None:
            startup[from_server] = packet.data
        else:
            flows[from_server].feed(packet.data)
    return [(*flows, startup) for flows, startup in found.values()]
