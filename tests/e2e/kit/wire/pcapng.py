# SPDX-License-Identifier: BSD-3-Clause
"""Reads pcapng files of raw IP packets."""
import struct


class Packet:
    """A TCP segment: its ports, flags and bytes. `whole`: the capture did not cut it."""

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
