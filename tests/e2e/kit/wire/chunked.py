# SPDX-License-Identifier: BSD-3-Clause
"""A hand-written requester that keeps the rules: exposes memory, answers Reads from it and places Writes into it."""
import struct

from kit.fabric import PEER
from kit.wire.iwarp import (READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE, TERMINATE, TERMINATE_QUEUE, WRITE,
                       ConnectionEnded, tagged, untagged)
from kit.wire.rpc import RpcPeer, segment


class Exposed:
    """Memory exposed under `handle`; the remote address of its first byte is `offset`."""

    def __init__(self, handle, offset, octets):
        self.handle, self.offset, self.octets = handle, offset, bytearray(octets)

    def segment(self):
        return segment(self.handle, len(self.octets), self.offset)



class OverIwarp(RpcPeer):
    """.written counts the bytes that the server has written, .invalidated lists the handles that it has
    invalidated. The caller chooses the handles. An access to memory that is not exposed ends the connection, as on a
    device."""

    def __init__(self, address, **handshake):
        super().__init__(address, **handshake)
        self.memory = {}
        self.written, self.invalidated = 0, []

    def expose(self, handle, offset, octets, readable):
        exposed = Exposed(handle, offset, octets)
        self.memory[handle] = (exposed, readable)
        return exposed

    def exchange(self, message):
        """Sends a call and serves the server's accesses until the reply. Returns the words of the reply's header, and
        the bytes after them."""
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

    def _place(self, handle, offset, count, readable):
        """Returns the exposed memory that contains the range, and the range as a slice of that memory."""
        exposed, may_be_read = self.memory.get(handle, (None, readable))
        start = offset - exposed.offset if exposed else -1
        if start < 0 or start + count > len(exposed.octets) or may_be_read != readable:
            self.fpdu(untagged(TERMINATE, TERMINATE_QUEUE, 1, struct.pack(">BBH", 0x11, 0, 0)))
            raise ConnectionEnded(f"no access to {handle:#x}: {offset:#x} + {count}")
        return exposed, slice(start, start + count)

    def _take(self, write):
        exposed, place = self._place(write.stag, write.offset, len(write.payload), readable=False)
        exposed.octets[place] = write.payload
        self.written += len(write.payload)

    def _give(self, request):
        sink, sink_offset, size, source, offset = struct.unpack(">IQIIQ", request.payload)
        exposed, place = self._place(source, offset, size, readable=True)
        octets = bytes(exposed.octets[place])
        for start in range(0, max(size, 1), 50000):
            part = octets[start:start + 50000]
            self.fpdu(tagged(READ_RESPONSE, sink, sink_offset + start, part, last=start + 50000 >= size))


class Window:
    """Memory that the device exposes under `handle`, through a memory window."""

    def __init__(self, handle, memory):
        self.handle, self.offset, self.memory = handle, memory.offset, memory

    @property
    def octets(self):
        return bytes(self.memory.view)

    def segment(self):
        return segment(self.handle, len(self.memory.view), self.offset)


class OverVerbs(RpcPeer):
    """Like OverIwarp, but the device chooses the handles and serves the server's accesses. .written counts the bytes
    that have changed."""

    def __init__(self, address, **handshake):
        super().__init__(address, **handshake)
        self.exposed, self.invalidated = [], []

    def expose(self, _, offset, octets, readable):
        handle, memory = super().expose(len(octets), readable, offset)
        memory.view[:] = octets
        self.exposed.append((memory, bytes(octets)))
        return Window(handle, memory)

    @property
    def written(self):
        return sum(was != now for memory, before in self.exposed for was, now in zip(before, memory.view))

    def exchange(self, message):
        self.send(message)
        got = self.receive_opcode(SEND, SEND_INVALIDATE)
        if got.opcode == SEND_INVALIDATE:
            self.invalidated.append(got.stag)
        return struct.unpack_from(">IIII", got.payload), got.payload[16:]


Requester = OverIwarp if PEER == "iwarp" else OverVerbs
