# SPDX-License-Identifier: BSD-3-Clause
"""The RDMA messages in captures of TCP with one MPA frame in each packet (--capture, Relay, recut). The messages
are whole, however they were segmented."""
import struct

from kit.wire import iwarp
from kit.wire.pcap import CLIENT, SERVER, SYN, read
from kit.wire.pcapng import Packet, packets
from kit.wire.rpc import NOMSG

SIDES = (CLIENT, SERVER)
SENDS, WRITES, REQUESTS, RESPONSES = "sends", "writes", "requests", "responses"


class Flow:
    """The messages of one direction, by kind, in order. Writes to consecutive places are joined."""

    def __init__(self):
        self.sends = []  # (invalidated handle or None, bytes)
        self.writes = []  # (handle, offset, bytes)
        self.requests = []  # (size, handle, offset)
        self.responses = []  # bytes

    def __eq__(self, other):
        return vars(self) == vars(other)

    def write(self, handle, offset, data):
        if self.writes and self.writes[-1][0] == handle and self.writes[-1][1] + len(self.writes[-1][2]) == offset:
            handle, offset, before = self.writes.pop()
            data = before + data
        if data:
            self.writes.append((handle, offset, data))

    def unordered(self):
        """The messages for a comparison that ignores the order of RDMA Reads and Writes."""
        return self.sends, sorted(self.writes), sorted(self.requests), sorted(self.responses)


class Connection:
    """.flows has the messages of the client and, separately, those of the server. .events has all of them in order, as
    (side, kind, message)."""

    def __init__(self):
        self.flows = Flow(), Flow()
        self.events = []

    def add(self, side, kind, *message):
        self.events.append((side, kind, message))
        if kind == WRITES:
            self.flows[side].write(*message)
        else:
            getattr(self.flows[side], kind).append(message[0] if kind == RESPONSES else message)


class Ddp:
    """Puts the segments of one direction together."""

    def __init__(self, connection, side):
        self.connection, self.side = connection, side
        self.parts = {SENDS: b"", RESPONSES: b""}

    def feed(self, fpdu):
        size, = struct.unpack_from(">H", fpdu)
        ulpdu = fpdu[2:2 + size]
        opcode = ulpdu[1] & 15
        stag, = struct.unpack_from(">I", ulpdu, 2)
        if opcode == iwarp.WRITE:
            self.connection.add(self.side, WRITES, stag, struct.unpack_from(">Q", ulpdu, 6)[0], ulpdu[14:])
        elif opcode == iwarp.READ_REQUEST:
            self.connection.add(self.side, REQUESTS, *struct.unpack_from(">IIQ", ulpdu, 18 + 12))  # without the sink
        elif opcode == iwarp.READ_RESPONSE:
            self._part(ulpdu, RESPONSES, ulpdu[14:])
        else:
            # Ignore whether the Send was solicited: the receiving program does not learn it.
            invalidates = opcode in (iwarp.SEND_INVALIDATE, iwarp.SEND_SE_INVALIDATE)
            self._part(ulpdu, SENDS, ulpdu[18:], stag if invalidates else None)

    def _part(self, ulpdu, kind, octets, *before):
        self.parts[kind] += octets
        if ulpdu[0] & 0x40:
            self.connection.add(self.side, kind, *before, self.parts[kind])
            self.parts[kind] = b""


def _connections(captured, server_port):
    found = {}
    for packet in captured:
        side = SERVER if packet.source == server_port else CLIENT
        client = packet.destination if side == SERVER else packet.source
        if packet.flags & SYN and side == CLIENT and client not in found:
            connection = Connection()
            found[client] = connection, [Ddp(connection, each) for each in SIDES], [False, False]
        if not packet.data or client not in found:
            continue
        _, directions, set_up = found[client]
        if set_up[side]:
            directions[side].feed(packet.data)
        set_up[side] = True
    return [connection for connection, _, _ in found.values()]


def of_capture(path, server_port):
    """The connections in a file of --capture, in the order in which they began."""
    return _connections(packets(path), server_port)


def of_wire(path, server_port):
    """The connections in a file of Relay or recut, in the order in which they began."""
    return _connections((Packet(packet, len(packet)) for packet in read(path)), server_port)


class Header:
    """The transport header of a Send (RFC 8166 section 4)."""

    def __init__(self, message):
        self.message, self.at = message, 0
        self.xid, self.version, self.credits, self.procedure = (self._word() for _ in range(4))
        self.reads, self.writes, self.reply = [], [], []  # segments: handle, length, offset
        self.positions = []  # of the Read segments
        while self._word():
            self.positions.append(self._word())
            self.reads.append(self._segment())
        while self._word():
            self.writes += [self._segment() for _ in range(self._word())]
        if self._word():
            self.reply = [self._segment() for _ in range(self._word())]

    def _word(self):
        self.at += 4
        return struct.unpack_from(">I", self.message, self.at - 4)[0]

    def _segment(self):
        self.at += 16
        return struct.unpack_from(">IIQ", self.message, self.at - 16)

    def is_call(self):
        """Whether the Send carries a call: in a Position-Zero Read chunk, or as a message that begins inline."""
        return bool(self.reads) if self.procedure == NOMSG else self.message[self.at + 4:self.at + 8] == bytes(4)


def _reads(case, connection, side):
    """(begin, end, handle, size) of each RDMA Read of `side`; begin and end are the indices of its Request and
    Response. Responses come in the order of their Requests (RFC 5040 section 5.2.1)."""
    events = list(enumerate(connection.events))
    requests = [(at, message) for at, (sender, kind, message) in events if (sender, kind) == (side, REQUESTS)]
    responses = [(at, message[0]) for at, (sender, kind, message) in events if (sender, kind) == (1 - side, RESPONSES)]
    case.assertEqual([size for _, (size, _, _) in requests], [len(octets) for _, octets in responses])
    return [(begin, end, handle, size) for (begin, (size, handle, _)), (end, _) in zip(requests, responses)]


def check_order(case, connection):
    """Checks that each call is followed by its reply, and that between the two, the responder reads all of the Read
    chunks and writes as much as the reply says. Returns the numbers of calls of the client and of the server."""
    calls, counts = {}, [0, 0]
    reads = [_reads(case, connection, side) for side in SIDES]
    for at, (side, kind, message) in enumerate(connection.events):
        if kind != SENDS:
            continue
        header = Header(message[1])
        if header.is_call():
            case.assertNotIn((side, header.xid), calls)
            calls[side, header.xid] = at, header
            counts[side] += 1
            continue
        case.assertIn((1 - side, header.xid), calls, "a reply before its call")
        start, call = calls.pop((1 - side, header.xid))
        for wanted, length, _ in call.reads:
            case.assertEqual(length, sum(size for begin, end, handle, size in reads[side] if handle == wanted and start < begin < end < at))
        written = [part for sender, what, part in connection.events[start:at] if (sender, what) == (side, WRITES)]
        for wanted, length, _ in header.writes + header.reply:
            case.assertEqual(length, sum(len(octets) for handle, _, octets in written if handle == wanted))
    case.assertFalse(calls, "calls without a reply")
    return counts
