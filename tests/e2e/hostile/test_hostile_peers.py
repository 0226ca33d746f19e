# SPDX-License-Identifier: BSD-3-Clause
"""Peers that misbehave in ways that a device does not prevent: connections that end early or exceed the limit, access
to memory without permission, chunks that cannot be read or written. Other peers are not affected."""
import contextlib
import struct

from kit.case import Case
from kit.fabric import verbs_only
from kit.waiting import scaled, wait_until
from kit.wire import nfs
from kit.wire.chunked import Requester
from kit.wire.nfs import handle_of_new
from kit.wire.peer import Peer
from kit.wire.rpc import MSG, NFS, READ, WRITE, RpcPeer, call, header, opaque, read_list, segment, write_list

EMPTY = bytes(4)


class HostilePeers(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.good = RpcPeer(self.one.address)
        self.addCleanup(self.good.close)

    def peer(self, kind=RpcPeer):
        peer = kind(self.one.address)
        self.addCleanup(peer.close)
        peer.null()
        return peer

    def ends(self, act, kind=RpcPeer):
        """The server ends a new connection on which `act` is called; other peers are still served."""
        peer = self.peer(kind)
        with contextlib.suppress(ConnectionError):  # the connection may end at once
            act(peer)
            peer.end()
        self.good.null()
        wait_until(lambda: self.one.counters()["connections"] == 1, "the connection's end")
        peer.close()

    def test_write_to_memory_that_was_not_given(self):
        for handle, offset in ((0xDEADBEEF, 0), (0, 0), (1, 1 << 63)):
            self.ends(lambda peer, handle=handle, offset=offset: peer.write(b"attack", handle, offset))

    def test_read_of_memory_that_was_not_given(self):
        for handle, offset in ((0xDEADBEEF, 0), (1, (1 << 64) - 4096)):
            self.ends(lambda peer, handle=handle, offset=offset: peer.read(4096, handle, offset))

    def test_invalidation_of_what_was_not_given(self):
        def invalidate(peer):
            xid = peer.next_xid()
            peer.send(header(xid) + call(xid), invalidate=0xDEADBEEF)

        self.ends(invalidate)

    def test_send_longer_than_the_receive(self):
        self.ends(lambda peer: peer.send(bytes(100000)))

    @verbs_only("RFC 5040 has no immediate data")
    def test_immediate_data(self):
        """Immediate data with valid calls, and without a message. It consumes a receive in both cases."""
        def send(peer):
            xid = peer.next_xid()
            peer.send_with_immediate(header(xid) + call(xid))

        self.ends(send)
        self.ends(lambda peer: peer.write_with_immediate(b"", 0, 0))

    def test_more_calls_than_credits(self):
        """The connection ends or the calls are answered; the server continues."""
        peer = self.peer()
        try:
            for _ in range(scaled(3000, 3000)):
                xid = peer.next_xid()
                peer.send(header(xid) + call(xid))
        except ConnectionError:
            pass
        peer.close()
        self.good.null()

    def file(self, peer):
        handle = handle_of_new(nfs.ask(peer, *nfs.create(peer.mount("/memory"), b"file"))[1])
        self.assertEqual(nfs.ask(peer, *nfs.write(handle, bytes(3000)))[0], nfs.OK)
        return opaque(handle)

    def write_call(self, peer, chunk):
        """A WRITE of 8,192 bytes from `chunk`."""
        xid = peer.next_xid()
        message = call(xid, NFS, 3, WRITE, self.file(peer) + struct.pack(">QIII", 0, 8192, 0, 8192))
        return header(xid, MSG, read_list((len(message), chunk)) + bytes(8)) + message

    def read_call(self, peer, chunk):
        """A READ of 8,192 bytes into `chunk`."""
        xid = peer.next_xid()
        message = call(xid, NFS, 3, READ, self.file(peer) + struct.pack(">QI", 0, 8192))
        return header(xid, MSG, EMPTY + write_list([chunk]) + EMPTY) + message

    def test_chunks_of_memory_that_is_not_there(self):
        for make in (self.write_call, self.read_call):
            self.ends(lambda peer, make=make: peer.exchange(make(peer, segment(0xDEADBEEF, 8192, 0))), Requester)

    def test_chunks_with_the_wrong_right(self):
        for make, readable in ((self.write_call, False), (self.read_call, True)):
            def act(peer, make=make, readable=readable):
                memory = peer.expose(0x5151, 0x1000, bytes(8192), readable)
                peer.exchange(make(peer, memory.segment()))
                self.assertEqual(peer.written, 0)

            self.ends(act, Requester)

    def test_chunks_longer_than_the_memory(self):
        def act(peer):
            memory = peer.expose(0x5151, 0x1000, bytes(8000), readable=True)
            peer.exchange(self.write_call(peer, segment(memory.handle, 8192, memory.offset)))

        self.ends(act, Requester)

    def test_end_while_the_server_reads(self):
        peer = self.peer(Requester)
        memory = peer.expose(0x5151, 0x1000, bytes(8192), readable=True)
        peer.send(self.write_call(peer, memory.segment()))
        peer.close()
        self.good.null()
        wait_until(lambda: self.one.counters()["connections"] == 1, "the connection's end")


class Connections(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server(options=("--max-connections", "8"))

    def connections(self, count):
        wait_until(lambda: self.one.counters()["connections"] <= count, "the connections' end")

    def test_end_right_after_the_set_up(self):
        for _ in range(scaled(60, 60)):
            with Peer(self.one.address) as peer:
                peer.handshake()
        self.connections(0)
        self.assertEqual(self.ls(self.one.url("/files")), [])

    def test_private_data_of_any_kind(self):
        for private in (b"", b"\xf6", bytes(56), b"\xff" * 50, bytes.fromhex("f6ab0e18ff00ffff"),
                        bytes.fromhex("f6ab0e18010000"), bytes.fromhex("f6ab0e1801000000")):
            with RpcPeer(self.one.address, private=private) as peer:
                peer.null()

    def test_more_than_there_may_be(self):
        """Connections over the limit are refused; after others have ended, new ones are accepted."""
        kept, refused = [], 0
        for _ in range(12):
            try:
                peer = RpcPeer(self.one.address)
                self.addCleanup(peer.close)
                peer.null()
                kept.append(peer)
            except ConnectionError:
                refused += 1
        self.assertEqual((len(kept), refused), (8, 4))
        self.assertEqual(self.one.counters()["connections"], 8)
        for peer in kept[:4]:
            peer.close()
        self.connections(4)
        self.assertEqual(self.ls(self.one.url("/files")), [])
