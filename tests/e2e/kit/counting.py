# SPDX-License-Identifier: BSD-3-Clause
"""Hand-written clients that count what they send and receive."""
import struct

from kit.fabric import PEER
from kit.wire import rpc
from kit.wire.chunked import Requester
from kit.wire.flows import Header
from kit.wire.iwarp import READ_REQUEST, WRITE
from kit.wire.rpc import call, header
from kit.wire.tcp import TcpPeer, record


class _Client:
    """What both clients have in common: calls, one at a time."""

    def rpc_reply(self, message, **keywords):
        """Makes a call; returns the RPC message of the reply."""
        raise NotImplementedError

    def begin(self, xid, **keywords):
        """The bytes before an RPC message that has no chunks."""
        raise NotImplementedError

    def make(self, program=rpc.NFS, version=3, procedure=0, arguments=b"", **keywords):
        """Makes a call without chunks; returns the RPC message of the reply."""
        self.xid += 1
        return self.rpc_reply(self.begin(self.xid) + call(self.xid, program, version, procedure, arguments, **keywords))

    def results(self, program, version, procedure, arguments=b""):
        reply = self.make(program, version, procedure, arguments)
        if struct.unpack_from(">6I", reply) != (self.xid, 1, 0, 0, 0, rpc.SUCCESS):
            raise AssertionError(f"not a success: {reply.hex()}")
        return reply[24:]


class CountingPeer(_Client, Requester):
    """Over RDMA. On iWARP it also counts the frames, and the server's RDMA Reads and Writes."""

    def __init__(self, counts, address, **handshake):
        self.counts = counts
        super().__init__(address, **handshake)
        counts.connection("accepted")

    def fpdu(self, ulpdu, spoil=False):
        super().fpdu(ulpdu, spoil)
        if spoil:
            self.counts.add("iwarp_crc_errors_total")
        else:
            self.counts.add("iwarp_frames_total", direction="received")

    def receive(self):
        message = super().receive()
        if message is None or PEER != "iwarp":
            return message
        self.counts.add("iwarp_frames_total", direction="sent")
        if message.opcode == READ_REQUEST or (message.opcode == WRITE and message.last):
            self.counts.moved("read" if message.opcode == READ_REQUEST else "write", 0)  # the headers show the bytes
        return message

    def begin(self, xid, **keywords):
        return header(xid, **keywords)

    def rpc_reply(self, message, long_call=b"", room=(), again=False):  # pylint: disable=arguments-differ
        """`long_call` is in the Position-Zero Read chunk, `room` is the memory of the Reply chunk."""
        self.counts.sent(message, long_call)
        before = len(self.invalidated)
        words, rest = self.exchange(message)
        reply = struct.pack(">4I", *words) + rest
        lists = Header(reply)
        long_reply = b"".join(bytes(one.octets[:length]) for one, (_, length, _) in zip(room, lists.reply))
        self.counts.received(reply, len(self.invalidated) > before, long_reply, again)
        return long_reply if lists.procedure == rpc.NOMSG else reply[lists.at:]

    def refused(self, message, xid):
        """Sends a message that must be answered by RDMA_ERROR."""
        self.counts.garbled(message)
        self.send(message)
        words, rest = self.reply_to(xid)
        self.counts.received(struct.pack(">4I", *words) + rest)

    def ignored(self, message):
        """Sends a message that must not be answered."""
        self.counts.discarded(message)
        self.send(message)


class CountingTcpPeer(_Client, TcpPeer):
    """Over plain TCP."""

    def __init__(self, counts, address):
        super().__init__(address)
        self.counts = counts
        counts.connection("accepted")

    def begin(self, xid, **keywords):
        return b""

    def rpc_reply(self, message, **keywords):
        return self.replies(message)[0]

    def replies(self, *messages):
        """Sends `messages` at once: a call, and repetitions of it. Returns the replies."""
        for message in messages:
            self.counts.tcp_sent(message)
        self.socket.sendall(b"".join(map(record, messages)))
        replies = [self.reply() for _ in messages]
        for index, reply in enumerate(replies):
            self.counts.tcp_received(reply, again=index > 0)
        return replies
