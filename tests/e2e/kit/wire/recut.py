# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites a capture of tcpdump with one MPA frame in each packet: tshark's dissector cannot follow large frames that are
not aligned to TCP segments."""
import struct

from kit.wire.pcap import CLIENT, SERVER, SYN, Capture, Stream, read
from kit.wire.relay import Frames


def tcp_segments(path):
    """(source port, destination port, sequence number, flags, bytes) of each TCP segment of a capture."""
    for packet in read(path):
        if packet[9] != 6:
            continue
        tcp = packet[(packet[0] & 15) * 4:]
        source, destination, sequence = struct.unpack_from(">HHI", tcp)
        yield source, destination, sequence, tcp[13], tcp[(tcp[12] >> 4) * 4:]


class Direction:
    """Puts the packets of one direction in order: two processors may send for one connection, so the order in a capture
    may differ from that of the stream."""

    def __init__(self, stream, sender, first):
        self.stream, self.sender, self.next, self.frames = stream, sender, first, Frames()
        self.early = []

    def feed(self, sequence, octets):
        self.early.append((sequence, octets))
        while ready := next((part for part in self.early if self.offset(part[0]) < 1 << 31), None):
            self.early.remove(ready)
            self.take(*ready)

    def offset(self, sequence):
        """The distance from `sequence` to the end of the stream so far, modulo 2^32; large if `sequence` is beyond
        that end."""
        return (self.next - sequence) % (1 << 32)

    def take(self, sequence, octets):
        skip = self.offset(sequence)
        fresh = octets[skip:]
        self.next = (self.next + len(fresh)) % (1 << 32)
        for frame in self.frames.feed(fresh):
            self.stream.write(self.sender, frame)


def recut(captured, target, server_port):
    """Writes the new capture to `target`; returns the number of stream bytes read."""
    capture, directions, streams, total = Capture(target), {}, {}, 0
    for source, destination, sequence, flags, octets in tcp_segments(captured):
        sender = SERVER if source == server_port else CLIENT
        key = (source, destination)
        if flags & SYN:
            client_port = destination if sender == SERVER else source
            if client_port not in streams:
                streams[client_port] = Stream(capture, client_port)
            directions[key] = Direction(streams[client_port], sender, (sequence + 1) % (1 << 32))
        elif octets and key in directions:
            directions[key].feed(sequence, octets)
            total += len(octets)
    capture.close()
    if any(direction.early for direction in directions.values()):
        raise AssertionError("the capture has a gap")
    return total
