# SPDX-License-Identifier: BSD-3-Clause
"""The server against a requester written by hand, with chunk lists most of which rpcrdma-nfs never sends."""
import struct

from kit.case import Case
from kit.trees import noise
from kit.wire.chunked import Requester
from kit.wire.rpc import MSG, NFS, NOMSG, READ, READDIRPLUS, WRITE, call, header, opaque, read_list, reply_chunk, write_list

EMPTY = bytes(4)


class Chunks(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.peer = Requester(self.one.address)
        self.addCleanup(self.peer.close)
        (self.files / "file").write_bytes(noise(5001))
        self.file = self.peer.lookup(self.peer.mount("/files"), "file")

    def read_by_write_chunk(self, sizes, offset=0, count=1 << 20):
        """A READ with a Write chunk of segments of these sizes. Returns the lengths in the reply, the data, and the
        results."""
        peer, xid = self.peer, self.peer.next_xid()
        room = [peer.expose(0x100 + index, 0x123456789A00 + (index << 32), b"\xEE" * size, readable=False)
                for index, size in enumerate(sizes)]
        self.first = room[0].handle
        lists = EMPTY + write_list([exposed.segment() for exposed in room]) + EMPTY
        message = call(xid, NFS, 3, READ, opaque(self.file) + struct.pack(">QI", offset, count))
        words, body = peer.exchange(header(xid, MSG, lists) + message)
        self.assertEqual((words[0], words[3]), (xid, MSG))
        # The Write list returns the same segments with the lengths written. [8166-3.4.6-b] [8166-3.4.6-c]
        self.assertEqual(struct.unpack_from(">III", body), (0, 1, len(sizes)))
        lengths = []
        for index, exposed in enumerate(room):
            handle, length, at = struct.unpack_from(">IIQ", body, 12 + 16 * index)
            self.assertEqual((handle, at), (exposed.handle, exposed.offset))
            lengths.append(length)
        rest = body[12 + 16 * len(sizes):]
        self.assertEqual(rest[:8], bytes(8))
        self.assertEqual(struct.unpack_from(">6I", rest, 8), (xid, 1, 0, 0, 0, 0))
        data = b"".join(bytes(exposed.octets[:length]) for exposed, length in zip(room, lengths))
        for exposed, length in zip(room, lengths):  # nothing is written beyond the returned length
            self.assertEqual(exposed.octets[length:], b"\xEE" * (len(exposed.octets) - length))
        return lengths, data, rest[32:]

    def test_read_into_odd_segments(self):
        lengths, data, results = self.read_by_write_chunk([1, 3, 4096, 7, 2000])
        self.assertEqual(lengths, [1, 3, 4096, 7, 894])  # filled in order, all but the last completely
        self.assertEqual(data, noise(5001))
        # Status, attributes, count, eof, and the length of the data. The data itself is in the Write chunk.
        self.assertEqual(results[:8], struct.pack(">II", 0, 1))
        self.assertEqual(results[92:], struct.pack(">III", 5001, 1, 5001))

    def test_read_of_exactly_the_room(self):
        lengths, data, _ = self.read_by_write_chunk([5001])
        self.assertEqual((lengths, data), ([5001], noise(5001)))
        self.assertEqual(self.peer.invalidated, [self.first])

    def test_read_with_room_for_the_pad(self):
        """Linux offers one more segment for the pad; the server writes no pad. [8166-3.4.6.2-b]"""
        lengths, data, _ = self.read_by_write_chunk([5001, 4])
        self.assertEqual((lengths, data), ([5001, 0], noise(5001)))

    def test_read_at_the_end(self):
        lengths, data, results = self.read_by_write_chunk([4096], offset=5001)
        self.assertEqual((lengths, data), ([0], b""))
        self.assertEqual(results[92:], struct.pack(">III", 0, 1, 0))

    def test_write_chunk_that_nothing_uses(self):
        peer, xid = self.peer, self.peer.next_xid()
        room = peer.expose(0x200, 0, bytes(100), readable=False)
        lists = EMPTY + write_list([room.segment()]) + EMPTY
        words, body = peer.exchange(header(xid, MSG, lists) + call(xid, NFS, 3, 1, opaque(self.file)))
        self.assertEqual(words[3], MSG)
        self.assertEqual(struct.unpack_from(">IIIIIQ", body), (0, 1, 1, room.handle, 0, 0))  # [8166-4.3.2.2-c] unused
        self.assertEqual(peer.written, 0)

    def write_by_read_chunk(self, content, sizes, extra=b""):
        """A WRITE of `content` from segments of these sizes, which hold `extra` after `content`."""
        peer, xid = self.peer, self.peer.next_xid()
        arguments = opaque(self.file) + struct.pack(">QIII", 0, len(content), 2, len(content))
        message = call(xid, NFS, 3, WRITE, arguments)
        octets, segments, start = content + extra, [], 0
        for index, size in enumerate(sizes):
            exposed = peer.expose(0x300 + index, 0x7000 + index * 0x10000, octets[start:start + size], readable=True)
            segments.append((len(message), exposed.segment()))
            start += size
        self.assertEqual(start, len(octets))
        words, body = peer.exchange(header(xid, MSG, read_list(*segments) + bytes(8)) + message)
        self.assertEqual((words[0], words[3], body[:12]), (xid, MSG, bytes(12)))
        return struct.unpack_from(">I", body, 32)[0], body[36:]

    def test_write_from_odd_segments(self):
        content = noise(10007, 1)
        status, results = self.write_by_read_chunk(content, [1, 2, 5000, 3, 5001])
        self.assertEqual((status, results[:4]), (0, bytes(4)))
        self.assertEqual((self.files / "file").read_bytes(), content)

    def test_write_with_the_pad_in_the_chunk(self):
        """RFC 8166 allows a pad in the chunk, but discourages it. [8166-3.4.5.2-b] [8166-3.4.5.2-d]"""
        content = noise(6001, 2)
        status, _ = self.write_by_read_chunk(content, [6001, 3], bytes(3))
        self.assertEqual(status, 0)
        self.assertEqual((self.files / "file").read_bytes(), content)

    def test_write_with_a_chunk_of_another_length(self):
        content = noise(6001, 2)
        status, _ = self.write_by_read_chunk(content, [6001, 99], bytes(99))
        self.assertEqual(status, 4)  # GARBAGE_ARGS [8166-4.5.2-b]
        self.assertEqual((self.files / "file").read_bytes(), noise(5001))

    def test_long_call(self):
        """A Position-Zero Read chunk in three segments. [8166-3.5.3-b] [8166-3.5.3-c]"""
        peer, xid = self.peer, self.peer.next_xid()
        content = noise(9999, 3)
        message = call(xid, NFS, 3, WRITE, opaque(self.file) + struct.pack(">QII", 0, len(content), 2) + opaque(content))
        parts = [message[:1000], message[1000:1001], message[1001:]]
        segments = [(0, peer.expose(0x400 + index, index << 40, part, readable=True).segment())
                    for index, part in enumerate(parts)]
        words, body = peer.exchange(header(xid, NOMSG, read_list(*segments) + bytes(8)))
        self.assertEqual((words[0], words[3], struct.unpack_from(">I", body, 32)[0]), (xid, MSG, 0))
        self.assertEqual((self.files / "file").read_bytes(), content)

    def test_long_reply_into_odd_segments(self):
        for index in range(50):
            (self.files / f"name-{index:02}-{'y' * 60}").touch()
        peer, xid = self.peer, self.peer.next_xid()
        root = peer.mount("/files")
        room = [peer.expose(0x500 + index, 0xFF00, bytes(size), readable=False)
                for index, size in enumerate([5, 2000, 1, 60000])]
        xid = peer.next_xid()
        message = call(xid, NFS, 3, READDIRPLUS, opaque(root) + struct.pack(">Q8sII", 0, bytes(8), 50000, 50000))
        lists = bytes(8) + reply_chunk(*(exposed.segment() for exposed in room))
        words, body = peer.exchange(header(xid, MSG, lists) + message)
        self.assertEqual((words[0], words[3]), (xid, NOMSG))
        self.assertEqual(struct.unpack_from(">IIII", body), (0, 0, 1, 4))
        lengths = [struct.unpack_from(">I", body, 20 + 16 * index)[0] for index in range(4)]
        self.assertEqual(lengths[:3], [5, 2000, 1])
        self.assertGreater(lengths[3], 0)
        reply = b"".join(bytes(exposed.octets[:length]) for exposed, length in zip(room, lengths))
        self.assertEqual(struct.unpack_from(">7I", reply), (xid, 1, 0, 0, 0, 0, 0))
        for index in range(50):
            self.assertIn(f"name-{index:02}-".encode(), reply)

    def test_reply_chunk_that_is_not_needed(self):
        peer, xid = self.peer, self.peer.next_xid()
        room = peer.expose(0x600, 0, bytes(4096), readable=False)
        lists = bytes(8) + reply_chunk(room.segment())
        words, body = peer.exchange(header(xid, MSG, lists) + call(xid, NFS, 3, 1, opaque(self.file)))
        if words[3] == MSG:  # inline: the Reply chunk is returned unused
            self.assertEqual(struct.unpack_from(">IIIIIIQ", body), (0, 0, 1, 1, room.handle, 0, 0))
        else:  # the responder may also use the Reply chunk
            self.assertEqual(words[3], NOMSG)
            self.assertGreater(peer.written, 0)

    def test_reply_chunk_too_small(self):
        for index in range(50):
            (self.files / f"name-{index:02}-{'y' * 60}").touch()
        peer = self.peer
        root = peer.mount("/files")
        xid = peer.next_xid()
        room = peer.expose(0x700, 0, bytes(3000), readable=False)
        message = call(xid, NFS, 3, READDIRPLUS, opaque(root) + struct.pack(">Q8sII", 0, bytes(8), 50000, 50000))
        words, body = peer.exchange(header(xid, MSG, bytes(8) + reply_chunk(room.segment())) + message)
        # [8166-4.5.3-b] the server detects that the chunk is too small before it writes anything
        self.assertEqual((words[0], words[3], body), (xid, 4, struct.pack(">I", 2)))
        self.assertEqual(peer.written, 0)

    def test_remote_invalidation_only_if_both_want_it(self):
        """[8797-4.1-a] [8797-4.1-c]"""
        peer = Requester(self.one.address, private=bytes.fromhex("f6ab0e1801000303"))
        self.addCleanup(peer.close)
        self.peer = peer
        self.read_by_write_chunk([6000])
        self.assertEqual(peer.invalidated, [])

    def test_without_private_data(self):
        """Thresholds of 1,024 bytes, no remote invalidation. [8797-5.1-a]"""
        peer = Requester(self.one.address, private=b"")
        self.addCleanup(peer.close)
        self.peer = peer
        _, data, _ = self.read_by_write_chunk([6000])
        self.assertEqual((data, peer.invalidated), (noise(5001), []))
        xid = peer.next_xid()
        message = header(xid) + call(xid, NFS, 3, READ, opaque(self.file) + struct.pack(">QI", 0, 2000))
        self.assertEqual(peer.transport_error(message, xid), (1, 2, []))  # does not fit into 1,024 bytes
        xid = peer.next_xid()
        peer.send(header(xid) + call(xid, NFS, 3, READ, opaque(self.file) + struct.pack(">QI", 0, 800)))
        words, body = peer.reply_to(xid)
        self.assertEqual((words[3], body[-800:]), (MSG, noise(5001)[:800]))

    def test_credits_are_granted(self):
        """[8166-3.3.1-b]"""
        xid = self.peer.next_xid()
        self.peer.send(header(xid, credits=0xFFFFFFFF) + call(xid))
        words, _ = self.peer.reply_to(xid)
        self.assertGreaterEqual(words[2], 1)
        self.assertLess(words[2], 2000)


class Resending(Case):
    """A call sent again after its connection was lost is not executed twice."""

    def test_mkdir(self):
        server = self.server()
        results = []
        for name in (b"again", b"again", b"other"):
            with Requester(server.address) as peer:
                root = peer.mount("/files")
                peer.xid = 0x7E600000 + (name == b"other")
                results.append(peer.results(NFS, 3, 9, opaque(root) + opaque(name) + struct.pack(">6I", *[0] * 6)))
        self.assertEqual([struct.unpack_from(">I", one)[0] for one in results], [0, 0, 0])
        self.assertEqual(results[0], results[1])
        with Requester(server.address) as peer:
            root = peer.mount("/files")
            again = peer.results(NFS, 3, 9, opaque(root) + opaque(b"again") + struct.pack(">6I", *[0] * 6))
            self.assertEqual(struct.unpack_from(">I", again)[0], 17)  # EXIST: with a new XID this is a new call
