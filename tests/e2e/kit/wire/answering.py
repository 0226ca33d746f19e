# SPDX-License-Identifier: BSD-3-Clause
"""A server on the iWARP fabric that answers NULL by itself, and other procedures with inline replies from the test."""
import struct

from kit.listening import Listening
from kit.waiting import wait_until
from kit.wire import iwarp, rpc

FOLDER = 2  # ftype3
CLOSED, RESET = "closed", "reset"


def attributes(kind=FOLDER):
    """fattr3"""
    return struct.pack(">IIIII", kind, 0o755, 2, 0, 0) + struct.pack(">QQ", 0, 0) + bytes(8 + 8 + 8 + 24)


def page(entries, end, plus=True):
    """READDIRPLUS3res if `plus`, else READDIR3res; entries are (name, cookie, handle)."""
    listed = b""
    for name, cookie, handle in entries:
        listed += struct.pack(">IQ", 1, cookie) + rpc.opaque(name) + struct.pack(">Q", cookie)
        if plus:
            listed += struct.pack(">I", 1) + attributes() + struct.pack(">I", 1) + rpc.opaque(handle)
    return bytes(4 + 4 + 8) + listed + struct.pack(">II", 0, int(end))


def found(handle):
    """LOOKUP3res of a directory"""
    return bytes(4) + rpc.opaque(handle) + struct.pack(">I", 1) + attributes() + bytes(4)


MOUNTED = bytes(4) + rpc.opaque(b"root") + struct.pack(">II", 1, 1)
NOT_MOUNTED = struct.pack(">I", 2)
ATTRIBUTES = bytes(4) + attributes()
CHANGED = bytes(4 + 8)  # NFS3_OK, and wcc_data without attributes
FSINFO = bytes(4 + 4) + struct.pack(">7IQIII", 65536, 65536, 1, 65536, 65536, 1, 65536, 1 << 40, 0, 1, 0x1B)


class Chunks:
    """Reads a header's chunk lists."""

    def __init__(self, received):
        self.received, self.at = received, 16

    def word(self):
        self.at += 4
        return struct.unpack_from(">I", self.received, self.at - 4)[0]

    def skip_segments(self):
        count = self.word()
        self.at += 16 * count

    def body(self):
        """The RPC message, which follows the chunk lists."""
        while self.word():  # Read list
            self.at += 20
        while self.word():  # Write list
            self.skip_segments()
        if self.word():  # Reply chunk
            self.skip_segments()
        return self.received[self.at:]


class Accepted(iwarp.Peer):
    """The responder's end of a connection."""

    def __init__(self, accepted):  # pylint: disable=super-init-not-called
        self.crc = False
        self.msn = {iwarp.SEND_QUEUE: 1, iwarp.READ_QUEUE: 1}
        self.socket = accepted
        self.ended = None

    def receive_exactly(self, count):
        data = bytearray()
        while len(data) < count:
            try:
                chunk = self.socket.recv(count - len(data))
            except ConnectionResetError:
                self.ended = RESET
                break
            if not chunk:
                self.ended = self.ended or CLOSED
                break
            data += chunk
        return bytes(data)

    def accept(self):
        """Answers the MPA Request; returns False if the peer disconnects without sending one."""
        head = self.receive_exactly(20)
        if len(head) < 20:
            return False
        flags, revision, length = struct.unpack_from(">BBH", head, 16)
        self.receive_exactly(length)
        self.crc = bool(flags & iwarp.CRC_BIT)
        enhanced = flags & iwarp.ENHANCED_BIT
        private = (struct.pack(">HH", 16, 16) if enhanced else b"") + iwarp.rfc8797(invalidation=False)
        kept = (flags & iwarp.CRC_BIT) | enhanced
        self.raw(iwarp.REPLY_KEY + struct.pack(">BBH", kept, revision, len(private)) + private)
        return True


class Answerer(Listening):
    """`answer(program, procedure, arguments)` returns the results, or None for PROC_UNAVAIL. Use as a context manager."""

    def __init__(self, answer):
        self.answer = answer
        self.calls = 0
        self.ends = []  # how the connections ended, the first to end first
        super().__init__()

    def url(self, path):
        return f"nfs://{self.address}/{path}"

    def end(self, index):
        """Waits for element `index` of self.ends, and returns it."""
        wait_until(lambda: len(self.ends) > index, "the end of a connection")
        return self.ends[index]

    def accepted(self, connection, address):
        self.run(self._serve, Accepted(connection))

    def _serve(self, peer):
        try:
            if peer.accept():
                while (message := peer.receive()) is not None:
                    if message.opcode == iwarp.SEND and message.payload:
                        peer.send(self._reply(message.payload))
        except ConnectionError:
            peer.ended = RESET
        self.ends.append(peer.ended)
        peer.close()

    def _reply(self, received):
        self.calls += 1
        body = Chunks(received).body()
        xid, _, _, program, _, procedure = struct.unpack_from(">6I", body)
        at = 24
        for _ in range(2):  # credential and verifier
            at += 8 + (struct.unpack_from(">I", body, at + 4)[0] + 3) // 4 * 4
        results = b"" if procedure == 0 else self.answer(program, procedure, body[at:])
        status = rpc.PROC_UNAVAIL if results is None else rpc.SUCCESS
        return rpc.header(xid) + struct.pack(">IIIIII", xid, 1, 0, 0, 0, status) + (results or b"")
