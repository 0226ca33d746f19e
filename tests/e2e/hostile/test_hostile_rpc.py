# SPDX-License-Identifier: BSD-3-Clause
"""RPC-over-RDMA and RPC messages that break the rules of RFC 8166 and RFC 5531. The connection stays up."""
import struct

from kit.case import Case
from kit.wire.rpc import (DONE, ERR_CHUNK, ERR_VERS, ERROR, GARBAGE_ARGS, LOOKUP, MSG, MSGP, NFS, NOMSG, PROC_UNAVAIL,
                     PROG_MISMATCH, PROG_UNAVAIL, READDIRPLUS, SETATTR, RpcPeer, call, header, opaque, read_list,
                     reply_chunk, segment, write_list)
from kit.wire.rpc import WRITE as NFS_WRITE

NO_LISTS = bytes(12)


class HostileRpc(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.peer = RpcPeer(self.one.address)
        self.addCleanup(self.peer.close)

    def err_chunk(self, procedure=MSG, chunks=NO_LISTS, payload=None):
        """The answer is RDMA_ERROR, ERR_CHUNK, and the connection stays usable."""
        xid = self.peer.next_xid()
        message = header(xid, procedure, chunks) + (call(xid) if payload is None else payload)
        self.assertEqual(self.peer.transport_error(message, xid), (1, ERR_CHUNK, []))
        self.peer.null()

    def silence(self, message):
        """`message` gets no reply: the first reply to arrive answers the next call."""
        self.peer.send(message)
        self.peer.null()

    def test_unsupported_version(self):
        # [8166-4.5.1-a] [8166-4.5-d] [8166-4.5-e]
        for version in (0, 2, 7):
            xid = self.peer.next_xid()
            answer = self.peer.transport_error(header(xid, version=version) + call(xid), xid)
            self.assertEqual(answer, (version, ERR_VERS, [1, 1]))
        self.peer.null()

    def test_unknown_procedures(self):
        # [8166-4.5.2-a]
        for procedure in (5, 6, 0xFFFFFFFF):
            self.err_chunk(procedure)

    def test_msgp(self):
        # [8166-4.6.1-b]
        self.err_chunk(MSGP, struct.pack(">II", 0, 0) + NO_LISTS)

    def test_done_and_error_are_dropped(self):
        # [8166-4.6.2-b] [8166-4.2.4-d]
        self.silence(header(1, DONE, b"") + bytes(12))
        self.silence(header(2, ERROR, struct.pack(">III", ERR_CHUNK, 0, 0)))

    def test_short_messages_are_dropped(self):
        # [8166-4.5-a]
        whole = header(3)
        for length in range(28):
            self.silence(whole[:length])

    def test_truncated_lists(self):
        # [8166-4.5.2-a]
        lists = read_list((128, segment(1, 4, 0))) + write_list([segment(2, 8, 0)]) + reply_chunk(segment(3, 8, 0))
        for length in range(12, len(lists) - 1, 4):
            self.err_chunk(MSG, lists[:length], b"")

    def test_optional_data_words(self):
        self.err_chunk(MSG, struct.pack(">III", 2, 0, 0))
        self.err_chunk(MSG, struct.pack(">III", 0, 0, 0x80000000))

    def test_huge_segment_counts(self):
        for count in (0x7FFFFFFF, 0xFFFFFFFF, 100000):
            self.err_chunk(MSG, struct.pack(">IIII", 0, 1, count, 0) + bytes(16))
            self.err_chunk(MSG, struct.pack(">IIII", 0, 0, 1, count) + bytes(16))

    def test_nomsg_without_a_message(self):
        # [8166-4.2.4-a]
        self.err_chunk(NOMSG, NO_LISTS, b"")

    def test_xids_that_differ(self):
        # [8166-4.2.1-a]
        xid = self.peer.next_xid()
        self.assertEqual(self.peer.transport_error(header(xid) + call(xid + 1), xid), (1, ERR_CHUNK, []))
        self.peer.null()

    def test_positions(self):
        for position in (2, 129):
            self.err_chunk(MSG, read_list((position, segment(1, 4, 0))) + bytes(8))

    def test_enormous_chunks(self):
        """A large length that a peer claims does not make the server allocate that much memory."""
        before = self.one.resident_kib()
        message = call(1, NFS, 3, NFS_WRITE, opaque(bytes(32)) + struct.pack(">QIII", 0, 0x7FFFFFFF, 0, 0x7FFFFFFF))
        for _ in range(5):
            xid = self.peer.next_xid()
            body = struct.pack(">I", xid) + message[4:]
            lists = read_list((len(message), segment(1, 0x7FFFFFFF, 0))) + bytes(8)
            self.peer.send(header(xid, MSG, lists) + body)
            words, answer = self.peer.reply_to(xid)
            if words[3] == ERROR:
                self.assertEqual(struct.unpack(">I", answer), (ERR_CHUNK,))
            xid = self.peer.next_xid()
            self.peer.send(header(xid, NOMSG, read_list((0, segment(1, 0x7FFFFFFF, 0))) + bytes(8)))
            words, answer = self.peer.reply_to(xid)
            self.assertEqual((words[3], struct.unpack(">I", answer)), (ERROR, (ERR_CHUNK,)))
        self.peer.null()
        self.assertLess(self.one.resident_kib() - before, 512 << 10)

    def test_reply_that_does_not_fit(self):
        """A long listing, requested without a Reply chunk."""
        # [8166-4.5.3-b]
        for index in range(100):
            (self.files / f"{'n' * 200}{index}").touch()
        handle = self.peer.mount("/files")
        arguments = opaque(handle) + struct.pack(">Q8sII", 0, bytes(8), 32768, 32768)
        xid = self.peer.next_xid()
        message = header(xid) + call(xid, NFS, 3, READDIRPLUS, arguments)
        self.assertEqual(self.peer.transport_error(message, xid), (1, ERR_CHUNK, []))
        self.peer.null()

    def accept_status(self, *arguments):
        xid = self.peer.next_xid()
        self.peer.send(header(xid) + call(xid, *arguments))
        words, body = self.peer.reply_to(xid)
        self.assertEqual((words[3], body[:12]), (MSG, NO_LISTS))
        status = struct.unpack_from(">IIIII", body, 16)
        self.assertEqual(status[:4], (1, 0, 0, 0))
        return status[4], struct.unpack(f">{(len(body) - 36) // 4}I", body[36:])

    def test_programs_that_are_not_served(self):
        self.assertEqual(self.accept_status(200000, 1, 0), (PROG_UNAVAIL, ()))
        self.assertEqual(self.accept_status(NFS, 4, 0), (PROG_MISMATCH, (3, 3)))
        self.assertEqual(self.accept_status(NFS, 3, 22), (PROC_UNAVAIL, ()))

    def test_truncated_call_headers(self):
        for length in range(24):
            xid = self.peer.next_xid()
            self.peer.send(header(xid) + call(xid, NFS, 3, 0)[:length])
            words, body = self.peer.reply_to(xid)
            if length < 8:  # [8166-4.5.2-a] no XID or no message type
                self.assertEqual((words[3], body), (ERROR, struct.pack(">I", ERR_CHUNK)))
            else:
                self.assertEqual((words[3], body[16:]), (MSG, struct.pack(">IIIII", 1, 0, 0, 0, GARBAGE_ARGS)))
        self.peer.null()

    def test_booleans_that_are_neither(self):
        handle = self.peer.mount("/files")
        for word in (2, 0xFFFFFFFF):
            arguments = opaque(handle) + struct.pack(">6I", word, 0o700, 0, 0, 0, 0) + bytes(8)
            self.assertEqual(self.accept_status(NFS, 3, SETATTR, arguments)[0], GARBAGE_ARGS)

    def test_arguments_that_cannot_be_decoded(self):
        # [8166-4.5.2-b]
        for arguments in (b"", bytes(3), struct.pack(">I", 65) + bytes(68), struct.pack(">I", 0xFFFFFFFF),
                          opaque(bytes(32)), opaque(bytes(32)) + struct.pack(">I", 5000) + b"name"):
            self.assertEqual(self.accept_status(NFS, 3, LOOKUP, arguments)[0], GARBAGE_ARGS)
        self.peer.null()

    def test_rpc_version_1(self):
        xid = self.peer.next_xid()
        self.peer.send(header(xid) + call(xid, rpc_version=1))
        words, body = self.peer.reply_to(xid)
        # The reply: denied, RPC_MISMATCH, lowest and highest version 2.
        self.assertEqual((words[3], struct.unpack(">IIIII", body[16:36])), (MSG, (1, 1, 0, 2, 2)))

    def test_made_up_file_handles(self):
        for handle in (b"", b"x", bytes(32), bytes(range(64)), b"\xff" * 28):
            for procedure in (1, 4, 18):
                results = self.peer.results(NFS, 3, procedure, opaque(handle) + bytes(4 if procedure == 4 else 0))
                self.assertIn(struct.unpack_from(">I", results)[0], (10001, 70), handle)  # BADHANDLE, STALE

    def test_names_that_lead_out(self):
        (self.folder / "outside").touch()
        handle = self.peer.mount("/files")
        for name in (b"..", b"../outside", b"/etc/passwd", b"a/b", b"", b"nul\0nul"):
            results = self.peer.results(NFS, 3, LOOKUP, opaque(handle) + opaque(name))
            status = struct.unpack_from(">I", results)[0]
            if name == b".." and status == 0:  # allowed at the root: it names the root itself
                self.assertEqual(results[4:8 + len(handle)], opaque(handle)[:4 + len(handle)])
            else:
                self.assertNotEqual(status, 0, name)
