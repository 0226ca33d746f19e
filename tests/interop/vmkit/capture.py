# SPDX-License-Identifier: BSD-3-Clause
"""Checks of captures from the machine, decoded by tshark: nothing is malformed except where tshark is known to fail,
and calls have the right chunk lists."""
import subprocess

from kit.wire import flows, roce
from kit.wire.recut import recut
from kit.wire.tshark import UNKNOWN_PROGRAMS, options

FIELDS = {
    "frame.protocols": "protocols", "infiniband.bth.opcode": "ib", "iwarp_rdma.opcode": "iwarp",
    "rpcordma.msg_type": "message", "rpcordma.reads_count": "reads", "rpcordma.writes_count": "writes",
    "rpcordma.reply_count": "reply_chunk", "rpcordma.position": "positions", "rpc.msgtyp": "rpc",
    "nfs.procedure_v3": "procedure", "_ws.col.Info": "info", "rpcrdma2.procedure": "message2", "rpcrdma2.error": "error2",
    "tcp.stream": "stream", "infiniband.bth.destqp": "pair", "infiniband.bth.psn": "psn", "rpc.program": "program",
}
CALL, REPLY, MSG, NOMSG, ERROR, ERR_VERS = 0, 1, 0, 1, 4, 1
READLINK, READ, WRITE, SYMLINK, READDIR, READDIRPLUS = 5, 6, 7, 10, 16, 17

# The chunks of a call whose RPC message is inline: their number in the Read list and in the Write list, and 1 if there
# is a Reply chunk. Procedures that INTENDED lacks have no chunks other than Read chunks. tshark decodes a call with
# Read chunks once their data has arrived, as a call without transport header.
NO_CHUNKS, WRITE_CHUNK, REPLY_CHUNK = (0, 0, 0), (0, 1, 0), (0, 0, 1)
INTENDED = {READ: WRITE_CHUNK, READLINK: REPLY_CHUNK, READDIR: REPLY_CHUNK, READDIRPLUS: REPLY_CHUNK}

# The opcodes of InfiniBand's reliable connections, and those of RDMAP.
IB = {"send with invalidate": {22, 23}, "write": {6, 7, 8, 10}, "read request": {12}, "read response": {13, 14, 15, 16}}
IWARP = {"send with invalidate": {4, 6}, "write": {0}, "read request": {1}, "read response": {2}, "terminate": {7}}


class Packet:
    def __init__(self, line):
        self.__dict__.update(zip(FIELDS.values(), line.split("\t")))

    def number(self, name):
        text = getattr(self, name).split(",")[0]
        return int(text, 0) if text else None

    def does(self, what):
        for text, names in ((self.ib, IB), (self.iwarp, IWARP)):
            if any(int(value, 0) in names.get(what, ()) for value in text.split(",") if value):
                return True
        return False

    def is_call(self, procedure=None):
        """An inline call with its transport header."""
        wanted = procedure in (None, self.number("procedure"))
        return wanted and (self.number("message"), self.number("rpc")) == (MSG, CALL)

    def is_put_together(self, procedure):
        """A call that was reassembled from RDMA Reads."""
        return (self.number("message"), self.number("rpc"), self.number("procedure")) == (None, CALL, procedure)

    def lists(self):
        return self.number("reads"), self.number("writes"), self.number("reply_chunk")

    def read_positions(self):
        return {int(text) for text in self.positions.split(",") if text}

    def has(self, protocol):
        return protocol in self.protocols.split(":")

    def connection(self):
        """The identifier of the connection: the number of the TCP stream, or the receiving queue pair of InfiniBand."""
        return self.stream, self.pair

    def malformed(self):
        return "_ws.malformed" in self.protocols

    def __repr__(self):
        return " ".join(f"{name}={value}" for name, value in vars(self).items() if value)


def decoded(path, tcp_port=None, preferences=()):
    """The packets. A TCP capture is first split into one packet for each MPA frame."""
    if tcp_port is not None:
        cut = path.with_suffix(".cut.pcap")
        recut(path, cut, tcp_port)
        path = cut
    fields = [text for field in FIELDS for text in ("-e", field)]
    done = subprocess.run(["tshark", *options(), *preferences, "-r", str(path), "-T", "fields", *fields],
                          capture_output=True, text=True, errors="replace", timeout=900, check=False)
    if done.returncode != 0:
        raise AssertionError(f"tshark: {done.stderr}")
    return [Packet(line) for line in done.stdout.splitlines()]


def some(case, packets, what, condition):
    if not any(condition(packet) for packet in packets):
        case.fail("\n".join([f"{what}: no packet of this kind; the packets:", *map(repr, packets[:200])]))


def check(case, packets):
    """Checks that there are bulk data in both directions and replies in Reply chunks, and that calls have only the
    intended chunks."""
    case.assertFalse([packet for packet in packets if packet.malformed() and "READ Reply" not in packet.info])
    case.assertFalse([packet for packet in packets if packet.does("terminate")])
    for what in ("write", "read request", "read response"):
        some(case, packets, what, lambda packet, what=what: packet.does(what))
    for packet in packets:
        if packet.is_call():
            case.assertEqual(packet.lists(), INTENDED.get(packet.number("procedure"), NO_CHUNKS), packet)
    some(case, packets, "READ with a Write chunk", lambda p: p.is_call(READ))
    some(case, packets, "a call with a Read chunk",
         lambda p: p.number("message") == MSG and p.number("reads") == 1 and p.read_positions() - {0})
    some(case, packets, "WRITE with the data of a Read chunk", lambda p: p.is_put_together(WRITE))
    case.assertFalse([packet for packet in packets if packet.is_call(WRITE)])
    # Linux does not survive calls that have both Read and Write chunks.
    case.assertFalse([packet for packet in packets if packet.number("reads") and packet.number("writes")])
    some(case, packets, "READDIRPLUS with a Reply chunk", lambda p: p.is_call(READDIRPLUS))
    some(case, packets, "a reply in the Reply chunk",
         lambda p: (p.number("message"), p.number("rpc"), p.number("procedure")) == (NOMSG, REPLY, READDIRPLUS) and
         p.lists() == REPLY_CHUNK)


def check_long_call(case, packets):
    """A call in a Position-Zero Read chunk; Linux's client sends none in NFS version 3."""
    some(case, packets, "a Position-Zero Read chunk",
         lambda p: p.number("message") == NOMSG and p.number("reads") and p.read_positions() == {0} and
         p.lists()[1:] == (0, 0))
    some(case, packets, "SYMLINK assembled from a Position-Zero Read chunk", lambda p: p.is_put_together(SYMLINK))


def check_fallback(case, packets):
    """A client that offers version two to a server without it: one refused call, after which the same connection and the
    next ones use version one."""
    # A device that waits too long for an acknowledgement repeats its packet.
    two = {(packet.connection(), packet.psn or packet): packet for packet in packets if packet.has("rpcrdma2")}.values()
    case.assertEqual([(packet.number("message2"), packet.number("error2")) for packet in two],
                     [(MSG, None), (ERROR, ERR_VERS)], list(two))
    first = {packet.connection() for packet in two}
    some(case, packets, "version one on the same connection", lambda p: p.has("rpcordma") and p.connection() in first)
    some(case, packets, "version one on another connection", lambda p: p.has("rpcordma") and p.connection() not in first)
    case.assertFalse([packet for packet in packets if packet.malformed()])


# The commands of client_for_the_capture in guest/client.sh; then guest/e2e.sh runs e2e_reverse.
COMMANDS = "put", "get", "ls", "ln", "readlink"
LEFT, NFSD, REVERSE = bytes([10, 1, 0, 1]), 20050, 20055
PROMPTER, DOUBLER = 0x20004D50, 0x20004D51  # tests/e2e/reverse/reverse.x


def _used(path, port):
    """The connections, without attempts that have failed."""
    return [connection for connection in flows.of_capture(path, port) if connection.events]


def check_own(case, folder, wire, reverse_calls):
    """Checks that the captures of client and server (--capture) have the same messages as the wire, and that tshark
    decodes them."""
    of_server = _used(folder / "server.pcapng", NFSD) + _used(folder / "reverse-server.pcapng", REVERSE)
    on_wire = roce.connections(wire, LEFT)
    case.assertEqual(len(of_server), len(on_wire))
    at = -1
    for name in (*COMMANDS, "reverse"):
        of_client = _used(folder / f"{name}.pcapng", REVERSE if name == "reverse" else NFSD)
        # If the device loses a connection, the client continues on another one.
        at += len(of_client)
        for side in flows.SIDES:
            # A device does not report the peer's Reads and Writes, so a capture shows them only when the reply arrives.
            # Their order is therefore not compared.
            real = on_wire[at].flows[side].unordered()
            case.assertEqual(of_server[at].flows[side].unordered(), real, name)
            case.assertEqual(of_client[-1].flows[side].unordered(), real, name)
        counts = [flows.check_order(case, one) for one in (of_client[-1], of_server[at], on_wire[at])]
        case.assertEqual(counts, 3 * counts[:1])
        case.assertEqual(counts[0][1], reverse_calls if name == "reverse" else 0)
    case.assertEqual(at, len(on_wire) - 1)
    server = decoded(folder / "server.pcapng")
    for seen in (server, [packet for name in COMMANDS for packet in decoded(folder / f"{name}.pcapng")]):
        check(case, seen)
        check_long_call(case, seen)
        case.assertTrue(any(packet.has("iwarp_mpa") and packet.does("send with invalidate") for packet in seen))
    for name in ("reverse", "reverse-server"):
        check_reverse(case, decoded(folder / f"{name}.pcapng", preferences=UNKNOWN_PROGRAMS), reverse_calls)


def check_reverse(case, packets, calls):
    """The calls of a server to its client, and the call that asks for them."""
    case.assertFalse([packet for packet in packets if packet.malformed()])
    for program, count in ((PROMPTER, 1), (DOUBLER, calls)):
        for kind in (CALL, REPLY):
            found = [packet for packet in packets if (packet.number("program"), packet.number("rpc")) == (program, kind)]
            case.assertEqual(len(found), count, [hex(program), kind])
