# SPDX-License-Identifier: BSD-3-Clause
"""What tshark makes of a capture from the machine: nothing malformed beyond what its dissector is known to miss, and
chunk lists as they should be."""
import subprocess

from kit.recut import recut
from kit.tshark import options

FIELDS = {
    "frame.protocols": "protocols", "infiniband.bth.opcode": "ib", "iwarp_rdma.opcode": "iwarp",
    "rpcordma.msg_type": "message", "rpcordma.reads_count": "reads", "rpcordma.writes_count": "writes",
    "rpcordma.reply_count": "reply_chunk", "rpcordma.position": "positions", "rpc.msgtyp": "rpc",
    "nfs.procedure_v3": "procedure", "_ws.col.Info": "info",
}
CALL, REPLY, MSG, NOMSG = 0, 1, 0, 1
READLINK, READ, WRITE, SYMLINK, READDIRPLUS = 5, 6, 7, 10, 17

# Opcodes: of InfiniBand's reliable connections, of RDMAP.
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

    def malformed(self):
        return "_ws.malformed" in self.protocols

    def __repr__(self):
        return " ".join(f"{name}={value}" for name, value in vars(self).items() if value)


def decoded(path, tcp_port=None):
    """The packets. A TCP capture is cut anew, a frame a packet, before tshark gets it."""
    if tcp_port is not None:
        cut = path.with_suffix(".cut.pcap")
        recut(path, cut, tcp_port)
        path = cut
    fields = [text for field in FIELDS for text in ("-e", field)]
    done = subprocess.run(["tshark", *options(), "-r", str(path), "-T", "fields", *fields],
                          capture_output=True, text=True, errors="replace", timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(f"tshark: {done.stderr}")
    return [Packet(line) for line in done.stdout.splitlines()]


def some(case, packets, what, condition):
    if not any(condition(packet) for packet in packets):
        case.fail("\n".join([f"{what} is not among", *map(repr, packets[:200])]))


def check(case, packets):
    """Bulk data both ways, by chunks."""
    case.assertFalse([packet for packet in packets if packet.malformed() and "READ Reply" not in packet.info])
    case.assertFalse([packet for packet in packets if packet.does("terminate")])
    for what in ("write", "read request", "read response"):
        some(case, packets, what, lambda packet, what=what: packet.does(what))
    some(case, packets, "READ with a Write chunk",
         lambda p: p.number("procedure") == READ and p.number("rpc") == CALL and
         p.number("writes") == 1 and not p.number("reads"))
    some(case, packets, "WRITE with a Read chunk",
         lambda p: p.number("message") == MSG and (p.number("reads") or 0) > 0 and
         p.number("positions") not in (None, 0))
    # Both at once would be an error that Linux does not survive.
    case.assertFalse([packet for packet in packets if packet.number("reads") and packet.number("writes")])


def check_long(case, packets):
    """Replies in Reply chunks."""
    some(case, packets, "a call with a Reply chunk",
         lambda p: p.number("procedure") == READDIRPLUS and p.number("rpc") == CALL and
         p.number("reply_chunk") == 1)
    some(case, packets, "a reply in the Reply chunk",
         lambda p: p.number("message") == NOMSG and p.number("reply_chunk") == 1)
