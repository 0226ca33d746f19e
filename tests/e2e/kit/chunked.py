# SPDX-License-Identifier: BSD-3-Clause
"""A well-behaved requester by hand: it exposes memory, answers Reads from it and takes Writes into it."""
import struct

from kit.iwarp import READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE, WRITE, tagged
from kit.rpc import RpcPeer, segment


class Exposed:
    """Memory under a handle, its first octet at `offset`."""

    def __init__(self, handle, offset, octets):
        self.handle, self.offset, self.octets = handle, offset, bytearray(octets)

    def segment(self):
        return segment(self.handle, len(self.octets), self.offset)

    def at(self, offset, count):
        start = offset - self.offset
        if start < 0 or start + count > len(self.octets):
            raise AssertionError(f"access outside {self.handle:#x}: {offset:#x} + {count}")
        return slice(start, start + count)


class Requester(RpcPeer):
    """Keeps count of what the server did: .reads, .written, .invalidated."""

    def __init__(self, address, **handshake):
        super().__init__(address, **handshake)
        self.memory = {}
        self.reads, self.written, self.invalidated = [], 0, []

    def expose(self, handle, offset, octets, readable):
        exposed = Exposed(handle, offset, octets)
        self.memory[handle] = (exposed, readable)
        return exposed

    def exchange(self, message):
        """Sends a call and serves the server until its reply: the header's words and what follows them."""
        self.send(message)
        while True:
            got = self.receive_opcode(WRITE, READ_REQUEST, SEND, SEND_INVALIDATE)
            if got.opcode == WRITE:
                self._take(got)
            elif got.opcode == READ_REQUEST:
                self._give(got)
            else:
                if got.opcode == SEND_INVALIDATE:
                    self.invalidated.append(got.stag)
                    del self.memory[got.stag]
                return struct.unpack_from(">IIII", got.payload), got.payload[16:]

    def _take(self, write):
        exposed, readable = self.memory[write.stag]
        if readable:
            raise AssertionError("a Write into memory exposed for reading")
        exposed.octets[exposed.at(write.offset, len(write.payload))] = write.payload
        self.written += len(write.payload)

    def _give(self, request):
        sink, sink_offset, size, source, offset = struct.unpack(">IQIIQ", request.payload)
        exposed, readable = self.memory[source]
        if not readable:
            raise AssertionError("a Read of memory exposed for writing")
        octets = bytes(exposed.octets[exposed.at(offset, size)])
        self.reads.append(size)
        for start in range(0, max(size, 1), 50000):
            part = octets[start:start + 50000]
            self.fpdu(tagged(READ_RESPONSE, sink, sink_offset + start, part, last=start + 50000 >= size))
