# SPDX-License-Identifier: BSD-3-Clause
"""The RDMA messages in tcpdump's captures of RoCEv2 (InfiniBand Architecture Specification, volume 1, chapter 9 and annex
A17) over IPv4."""
import struct
from collections import deque

from kit.wire.flows import REQUESTS, RESPONSES, SENDS, WRITES, Connection
from kit.wire.pcap import CLIENT, SERVER, read

PORT, UNRELIABLE_DATAGRAM = 4791, 100
FIRST, LAST = 1, 2
SEND = {0: FIRST, 1: 0, 2: LAST, 4: FIRST | LAST, 22: LAST, 23: FIRST | LAST}
WRITE = {6: FIRST, 7: 0, 8: LAST, 10: FIRST | LAST}
RESPONSE = {13: FIRST, 14: 0, 15: LAST, 16: FIRST | LAST}
READ_REQUEST, ACKNOWLEDGE, SEND_LAST_INVALIDATE, SEND_ONLY_INVALIDATE = 12, 17, 22, 23


class Packet:
    """A packet of a reliable connection."""

    def __init__(self, ip, udp):
        self.sender, self.receiver = ip[12:16], ip[16:20]
        self.opcode, flags, _, pair, number = struct.unpack_from(">BBHII", udp, 8)
        self.pair, self.number = pair & 0xFFFFFF, number & 0xFFFFFF
        self.rest = udp[20:len(udp) - 4 - (flags >> 4 & 3)]  # without padding and the invariant CRC

    def take(self, layout):
        """Removes an extended header."""
        values = struct.unpack_from(layout, self.rest)
        self.rest = self.rest[struct.calcsize(layout):]
        return values


def packets(path):
    for ip in read(path):
        udp = ip[(ip[0] & 15) * 4:]
        if ip[9] == 17 and struct.unpack_from(">H", udp, 2)[0] == PORT and udp[8] != UNRELIABLE_DATAGRAM:
            yield Packet(ip, udp)


class Direction:
    """The Sends, RDMA Writes and Read Requests of one side. Leaves out retransmitted packets, which it recognizes by
    their sequence numbers (PSN)."""

    def __init__(self, connection, side, mtu):
        self.connection, self.side, self.mtu = connection, side, mtu
        self.next = None  # the number of the next request packet
        self.answers = deque()  # the numbers of the responses that the peer owes
        self.parts, self.target = b"", None

    def request(self, packet):
        if self.next is None:
            self.next = packet.number
        if packet.number != self.next:
            return
        count = 1
        if packet.opcode == READ_REQUEST:
            offset, handle, size = packet.take(">QII")
            count = max(1, -(-size // self.mtu))
            self.answers.extend((self.next + index) & 0xFFFFFF for index in range(count))
            self.connection.add(self.side, REQUESTS, size, handle, offset)
        elif packet.opcode in WRITE:
            self._write(packet)
        elif packet.opcode in SEND:
            self._send(packet)
        else:
            raise AssertionError(f"opcode {packet.opcode}")
        self.next = (self.next + count) & 0xFFFFFF

    def _write(self, packet):
        if WRITE[packet.opcode] & FIRST:
            offset, handle, _ = packet.take(">QII")
            self.target = handle, offset
        handle, offset = self.target
        self.connection.add(self.side, WRITES, handle, offset, packet.rest)
        self.target = handle, offset + len(packet.rest)

    def _send(self, packet):
        invalidated = packet.take(">I")[0] if packet.opcode in (SEND_LAST_INVALIDATE, SEND_ONLY_INVALIDATE) else None
        self.parts += packet.rest
        if SEND[packet.opcode] & LAST:
            self.connection.add(self.side, SENDS, invalidated, self.parts)
            self.parts = b""


class Responses:
    """What one side answers to the Read Requests of the other."""

    def __init__(self, asker, side):
        self.asker, self.side, self.parts = asker, side, b""

    def response(self, packet):
        if not self.asker.answers or packet.number != self.asker.answers[0]:
            return
        self.asker.answers.popleft()
        if packet.opcode != 14:
            packet.take(">I")  # the acknowledgement
        self.parts += packet.rest
        if RESPONSE[packet.opcode] & LAST:
            self.asker.connection.add(self.side, RESPONSES, self.parts)
            self.parts = b""


def connections(path, server):
    """The connections to the IPv4 address `server`, in order. Each must end before the next begins."""
    seen = list(packets(path))
    mtu = max((len(packet.rest) - {6: 16, 13: 4}.get(packet.opcode, 0) for packet in seen if packet.opcode in (0, 6, 13)),
              default=1 << 32)
    pairs = [], []  # the queue pairs to which the client sends, and those to which the server sends
    for packet in seen:
        mine = pairs[SERVER if packet.sender == server else CLIENT]
        if packet.pair not in mine:
            mine.append(packet.pair)
    if len(pairs[CLIENT]) != len(pairs[SERVER]):
        raise AssertionError(f"queue pairs {pairs}")
    found = []
    for _ in pairs[CLIENT]:
        connection = Connection()
        asking = [Direction(connection, side, mtu) for side in (CLIENT, SERVER)]
        found.append((connection, asking, [Responses(asking[1 - side], side) for side in (CLIENT, SERVER)]))
    for packet in seen:
        side = SERVER if packet.sender == server else CLIENT
        _, asking, answering = found[pairs[side].index(packet.pair)]
        if packet.opcode in RESPONSE:
            answering[side].response(packet)
        elif packet.opcode != ACKNOWLEDGE:
            asking[side].request(packet)
    return [connection for connection, _, _ in found]
