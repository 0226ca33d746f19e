# SPDX-License-Identifier: BSD-3-Clause
"""Peers that break MPA, DDP or RDMAP get the Terminate that the RFCs name; other peers are not affected."""
import struct

from kit.case import Case
from kit.fabric import iwarp_only
from kit.wire.iwarp import (READ_QUEUE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE, SEND_QUEUE, TERMINATE, WRITE,
                       fpdu, read_request, tagged, untagged)
from kit.wire.rpc import MSG, NFS, RpcPeer, call, header, opaque, read_list, segment
from kit.wire.rpc import WRITE as NFS_WRITE

RDMAP, DDP, MPA = 0, 1, 2
M_AND_D, M_D_R = 0b110, 0b111


@iwarp_only("breaks DDP and RDMAP, which a device prevents; hostile_peers breaks what a device does not prevent")
class HostileFabric(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.good = RpcPeer(self.one.address)
        self.addCleanup(self.good.close)

    def peer(self, **handshake):
        peer = RpcPeer(self.one.address, **handshake)
        self.addCleanup(peer.close)
        peer.null()
        return peer

    def terminated(self, peer, *errors):
        """Expects a Terminate with one of `errors`; returns its header bits and headers. Other peers are still
        served."""
        error, bits, headers = peer.terminate()
        self.assertIn(error, errors)
        self.good.null()
        return bits, headers

    def ends(self, ulpdu, *errors, headers=None):
        """The segment `ulpdu` ends a new connection. The Terminate returns no header, or the first `headers` bytes of
        `ulpdu`."""
        peer = self.peer()
        peer.fpdu(ulpdu)
        bits, rest = self.terminated(peer, *errors)
        if headers and bits:
            self.assertEqual(struct.unpack_from(">H", rest), (len(ulpdu),))
            self.assertEqual(rest[2:], ulpdu[:headers])

    def test_send_longer_than_the_receive(self):
        # [5040-5.3-c] [5041-7.1-d]
        peer = self.peer()
        peer.send(bytes(100000), largest=4000)
        bits, headers = self.terminated(peer, (DDP, 2, 5))
        self.assertEqual(bits, M_AND_D)
        self.assertEqual(headers[2:4], bytes((0x01, 0x40 | SEND)))

    def test_send_longer_than_the_receive_in_one_segment(self):
        self.ends(untagged(SEND, SEND_QUEUE, 2, bytes(60000)), (DDP, 2, 5), headers=18)

    def test_more_sends_than_credits(self):
        """A peer makes far more calls than it was granted: the connection ends or the calls are answered; the server
        continues."""
        peer = self.peer()
        try:
            for _ in range(3000):
                xid = peer.next_xid()
                peer.send(header(xid) + call(xid))
        except ConnectionError:
            pass
        peer.close()
        self.good.null()

    def test_write_to_an_unknown_stag(self):
        # [5041-7.1-b] [5041-7.2-a]
        self.ends(tagged(WRITE, 0xDEADBEEF, 0, b"attack"), (DDP, 1, 0), headers=14)
        self.ends(tagged(WRITE, 0, 0, b"attack"), (DDP, 1, 0), headers=14)

    def test_write_of_nothing_is_no_harm(self):
        # [5041-5.2-e]
        peer = self.peer()
        peer.fpdu(tagged(WRITE, 0xDEADBEEF, 1 << 60, b""))
        peer.null()

    def test_read_of_an_unknown_stag(self):
        # [5040-7.2-c] [5040-4.8-d]
        ulpdu = untagged(READ_REQUEST, READ_QUEUE, 1, read_request(1, 0, 4096, 0xDEADBEEF, 0))
        peer = self.peer()
        peer.fpdu(ulpdu)
        bits, headers = self.terminated(peer, (RDMAP, 1, 0))
        self.assertEqual(bits, M_D_R)
        self.assertEqual(headers, struct.pack(">H", 46) + ulpdu)

    def test_read_of_all_memory(self):
        # [5040-7.2-c] [5041-8.3.1-c]
        for offset in (0, 0x7F0000000000, (1 << 64) - 4096):
            request = read_request(1, 0, 0xFFFFFFFF, 1, offset)
            self.ends(untagged(READ_REQUEST, READ_QUEUE, 1, request), (RDMAP, 1, 0), (RDMAP, 1, 1), (RDMAP, 1, 4))

    def test_read_of_nothing_is_answered(self):
        # [5040-5.2.1-e] [5040-4.4-b]
        peer = self.peer()
        peer.fpdu(untagged(READ_REQUEST, READ_QUEUE, 1, read_request(0x77, 0x88, 0, 0xDEADBEEF, 5)))
        answer = peer.receive_opcode(READ_RESPONSE)
        self.assertEqual((answer.stag, answer.offset, answer.payload), (0x77, 0x88, b""))
        peer.null()

    def test_read_requests_without_end(self):
        peer = self.peer(inbound=4, outbound=4)
        try:
            for _ in range(5000):
                peer.read(0, 1, 0)
        except ConnectionError:
            pass
        peer.close()
        self.good.null()

    def test_response_that_nobody_asked_for(self):
        # [5040-5.2.2-c]
        self.ends(tagged(READ_RESPONSE, 0x1234, 0, b"attack"), (DDP, 1, 0), headers=14)

    def test_invalidate_of_an_unknown_stag(self):
        # [5040-7.2-b]
        peer = self.peer()
        xid = peer.next_xid()
        peer.fpdu(untagged(SEND_INVALIDATE, SEND_QUEUE, 2, header(xid) + call(xid), invalidate=0xDEADBEEF))
        self.terminated(peer, (RDMAP, 2, 9), (RDMAP, 1, 9))

    def test_sequence_numbers(self):
        # [5041-7.1-a]
        self.ends(untagged(SEND, SEND_QUEUE, 3, bytes(40)), (DDP, 2, 3), (DDP, 2, 2), headers=18)
        self.ends(untagged(SEND, SEND_QUEUE, 1, bytes(40)), (DDP, 2, 3), (DDP, 2, 2), headers=18)
        self.ends(untagged(SEND, SEND_QUEUE, 2, bytes(40), offset=8), (DDP, 2, 4), headers=18)
        self.ends(untagged(SEND, 3, 1, bytes(40)), (DDP, 2, 1), headers=18)

    def test_versions_and_opcodes(self):
        # [5040-7.2-a] [5041-4.1-f]
        self.ends(untagged(SEND, SEND_QUEUE, 2, bytes(40), ddp_version=2), (DDP, 2, 6))
        self.ends(tagged(WRITE, 1, 0, bytes(40), ddp_version=2), (DDP, 1, 4))
        self.ends(untagged(SEND, SEND_QUEUE, 2, bytes(40), rdmap_version=2), (RDMAP, 2, 5))
        self.ends(untagged(8, SEND_QUEUE, 2, bytes(40)), (RDMAP, 2, 6))
        self.ends(tagged(SEND, 1, 0, bytes(40)), (RDMAP, 2, 6))
        self.ends(untagged(WRITE, SEND_QUEUE, 2, bytes(40)), (RDMAP, 2, 6))

    def test_bad_crc(self):
        # [5040-6.2.1-a]
        peer = self.peer(crc=True)
        peer.fpdu(untagged(SEND, SEND_QUEUE, 2, bytes(40)), spoil=True)
        bits, _ = self.terminated(peer, (MPA, 0, 2))
        self.assertEqual(bits, 0)

    def test_segments_too_short_for_their_header(self):
        for length in range(18):
            with self.subTest(length=length):
                peer = self.peer()
                peer.raw(fpdu(untagged(SEND, SEND_QUEUE, 2, b"")[:length]))
                self.assertEqual(peer.receive_opcode(TERMINATE).opcode, TERMINATE)
                self.assertEqual(peer.rest(), b"")
        self.good.null()

    def test_terminate_from_the_peer(self):
        peer = self.peer()
        peer.fpdu(untagged(TERMINATE, 2, 1, struct.pack(">BBH", 0x12, 5, 0)))
        self.assertEqual(peer.rest(), b"")
        self.good.null()

    def write_call(self, peer, length=8192):
        """Sends a WRITE call with a Read chunk; returns the fields of the server's Read Request."""
        handle = peer.mount("/memory")
        created = peer.results(NFS, 3, 8, opaque(handle) + opaque(b"file") + struct.pack(">I6I", 0, 0, 0, 0, 0, 0, 0))
        self.assertEqual(struct.unpack_from(">II", created), (0, 1))
        size = struct.unpack_from(">I", created, 8)[0]
        file = created[12:12 + size]
        xid = peer.next_xid()
        message = call(xid, NFS, 3, NFS_WRITE, opaque(file) + struct.pack(">QIII", 0, length, 0, length))
        peer.send(header(xid, MSG, read_list((len(message), segment(0x5151, length, 0x1000))) + bytes(8)) + message)
        request = peer.receive_opcode(READ_REQUEST)
        sink, offset, size, source, at = struct.unpack(">IQIIQ", request.payload)
        self.assertEqual((size, source, at), (length, 0x5151, 0x1000))
        return sink, offset

    def test_good_response(self):
        peer = self.peer()
        sink, offset = self.write_call(peer)
        peer.fpdu(tagged(READ_RESPONSE, sink, offset, bytes(5000), last=False))
        peer.fpdu(tagged(READ_RESPONSE, sink, offset + 5000, bytes(3192)))
        words, _ = peer.reply_to(peer.xid)
        self.assertEqual(words[3], MSG)

    def test_response_beyond_the_sink(self):
        # [5040-5.2.2-c]
        peer = self.peer()
        sink, offset = self.write_call(peer)
        peer.fpdu(tagged(READ_RESPONSE, sink, offset, bytes(8193)))
        self.terminated(peer, (DDP, 1, 1), (DDP, 1, 0))

    def test_response_before_the_sink(self):
        peer = self.peer()
        sink, offset = self.write_call(peer)
        peer.fpdu(tagged(READ_RESPONSE, sink, (offset - 4096) % (1 << 64), bytes(4096), last=False))
        self.terminated(peer, (DDP, 1, 1), (DDP, 1, 0), (DDP, 1, 3))

    def test_response_too_short(self):
        peer = self.peer()
        sink, offset = self.write_call(peer)
        peer.fpdu(tagged(READ_RESPONSE, sink, offset, bytes(100)))
        self.terminated(peer, (DDP, 1, 1), (DDP, 1, 0))

    def test_write_into_the_sink_of_a_read(self):
        """The sink of the server's own Read accepts Read Responses only, not Writes."""
        # [5041-8.3.1-d]
        peer = self.peer()
        sink, offset = self.write_call(peer)
        peer.fpdu(tagged(WRITE, sink, offset, bytes(8192)))
        self.terminated(peer, (DDP, 1, 0), (DDP, 1, 1))

    def test_end_in_mid_response(self):
        peer = self.peer()
        sink, offset = self.write_call(peer, 1 << 20)
        peer.raw(fpdu(tagged(READ_RESPONSE, sink, offset, bytes(60000), last=False))[:30000])
        peer.close()
        self.good.null()
