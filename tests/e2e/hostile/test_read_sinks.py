# SPDX-License-Identifier: BSD-3-Clause
"""A peer learns the STag of the sink of an RDMA Read, and may use it only to answer that Read. Hand-driven iWARP peers
connect to the userspace stack, or to siw below the verbs provider."""
import contextlib
import re
import select
import struct
import subprocess

from kit.case import Case
from kit.fabric import iwarp_peers_only, verbs_only
from kit.waiting import wait_until
from kit.wire import nfs
from kit.wire.iwarp import READ_REQUEST, READ_RESPONSE, tagged
from kit.wire.iwarp import WRITE as WRITE_DATA
from kit.wire.rpc import MSG, NFS, WRITE, RpcPeer, call, header, opaque, read_list, segment

SIZE = 8192
SOURCE = segment(0x5151, SIZE, 0x1000)


def registrations():
    """The number of memory regions that are registered with the devices of this machine."""
    listed = subprocess.run(["rdma", "resource", "show"], capture_output=True, text=True, check=True).stdout
    return sum(map(int, re.findall(r"\bmr (\d+)", listed)))


@iwarp_peers_only("on InfiniBand an RDMA Read does not reveal its sink to the peer")
class ReadSinks(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.good = self.peer()

    def peer(self):
        peer = RpcPeer(self.one.address)
        self.addCleanup(peer.close)
        xid = peer.next_xid()
        peer.send(header(xid) + call(xid))

        def answered():
            """Sends an empty Write if there is no reply: siw may leave the first message unread until more arrives."""
            if select.select([peer.socket], [], [], 0.05)[0]:
                return True
            peer.write(b"", 0, 0)
            return False

        wait_until(answered, "the first reply")
        peer.reply_to(xid)
        return peer

    def ask(self, peer):
        """Sends a WRITE call with a Read chunk; returns the STag and the offset of the server's sink."""
        file = nfs.handle_of_new(nfs.ask(peer, *nfs.create(peer.mount("/memory"), b"file"))[1])
        xid = peer.next_xid()
        message = call(xid, NFS, 3, WRITE, opaque(file) + struct.pack(">QIII", 0, SIZE, 0, SIZE))
        peer.send(header(xid, MSG, read_list((len(message), SOURCE)) + bytes(8)) + message)
        sink, offset, size, source, at = struct.unpack(">IQIIQ", peer.receive_opcode(READ_REQUEST).payload)
        self.assertEqual(segment(source, size, at), SOURCE)
        return sink, offset

    def answer(self, peer, sink, offset):
        peer.fpdu(tagged(READ_RESPONSE, sink, offset, b"\x5a" * SIZE))
        words, _ = peer.reply_to(peer.xid)
        self.assertEqual(words[3], MSG)

    def ends(self, peer):
        """The connection ends; other peers are still served, their Reads included."""
        with contextlib.suppress(ConnectionError):
            while peer.receive() is not None:
                pass
        wait_until(lambda: self.one.counters()["connections"] == 1, "the connection's end")
        for _ in range(3):
            self.answer(self.good, *self.ask(self.good))

    def test_after_the_read(self):
        # [5040-7.2-b] [5041-7.1-b] [5040-7.2-c] the STag is no longer valid
        def invalidate(peer, sink, _):
            xid = peer.next_xid()
            peer.send(header(xid) + call(xid), invalidate=sink)

        for act in (invalidate, lambda peer, sink, offset: peer.write(b"attack", sink, offset),
                    lambda peer, sink, offset: peer.read(SIZE, sink, offset)):
            peer = self.peer()
            sink, offset = self.ask(peer)
            self.answer(peer, sink, offset)
            with contextlib.suppress(ConnectionError):
                act(peer, sink, offset)
                peer.end()
            self.ends(peer)

    def test_invalidated_during_the_read(self):
        """Only the Read of this connection fails, not those of other peers."""
        peer = self.peer()
        sink, offset = self.ask(peer)
        xid = peer.next_xid()
        with contextlib.suppress(ConnectionError):
            peer.send(header(xid) + call(xid), invalidate=sink)
            peer.fpdu(tagged(READ_RESPONSE, sink, offset, bytes(SIZE)))
        self.ends(peer)

    def test_of_another_connection(self):
        reader, other = self.peer(), self.peer()
        sink, offset = self.ask(reader)
        with contextlib.suppress(ConnectionError):
            other.write(b"attack", sink, offset)
            other.end()
        self.answer(reader, sink, offset)
        reader.close()
        self.ends(other)

    def test_around_it(self):
        """The peer cannot access memory beside the sink, even while the sink is exposed."""
        for opcode in (READ_RESPONSE, WRITE_DATA):
            for skip in (-SIZE, SIZE):
                peer = self.peer()
                sink, offset = self.ask(peer)
                with contextlib.suppress(ConnectionError):
                    peer.fpdu(tagged(opcode, sink, (offset + skip) % (1 << 64), bytes(SIZE)))
                    peer.end()
                self.ends(peer)

    @verbs_only("counts the regions registered with a device")
    def test_they_are_given_back(self):
        def use():
            for _ in range(20):
                self.answer(self.good, *self.ask(self.good))
            for _ in range(5):
                peer = self.peer()
                self.ask(peer)
                peer.close()
                wait_until(lambda: self.one.counters()["connections"] == 1, "the connection's end")

        use()  # fills the pools, which keep idle memory registered
        before = registrations()
        use()
        wait_until(lambda: registrations() <= before, "the release of the sinks")
