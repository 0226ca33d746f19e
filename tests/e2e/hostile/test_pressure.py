# SPDX-License-Identifier: BSD-3-Clause
"""Peers that request large replies and do not read them: the server's memory stays bounded, and others are served."""
import os
import socket
import struct
import unittest
from unittest import mock

from kit.case import Case
from kit.fabric import iwarp_peers_only
from kit.waiting import scaled, wait_until
from kit.wire.rpc import MSG, NFS, READDIRPLUS, RpcPeer, call, header, opaque, reply_chunk, segment

ENTRIES, LARGEST, CALLS = 1700, 256 << 10, 32
MIB = 1 << 10  # in KiB
ELSEWHERE = "127.0.0.2"
# The server's resident memory may grow by less than this, in KiB. The allocator of the address sanitizer returns memory
# to the system only after some seconds.
MOST = (400 if "ASAN_OPTIONS" in os.environ else 200) * MIB


@iwarp_peers_only("needs a peer that stops reading")
@unittest.skipIf("TSAN_OPTIONS" in os.environ, "the thread sanitizer multiplies memory")
class UnreadListings(Case):
    """Each peer requests as many listings of 256 KiB as it has credits, and reads no reply."""

    def setUp(self):
        super().setUp()
        # Turn off the quarantine in which the address sanitizer keeps freed memory.
        with mock.patch.dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0"):
            self.one = self.server(options=("--threads", "1"))
        (self.files / "large").mkdir()
        for number in range(ENTRIES):
            (self.files / "large" / f"file-{number:05}").touch()
        (self.files / "small").mkdir()
        (self.files / "small" / "file").touch()

    def greedy(self):
        """Connects a peer and waits until it has all credits; returns the peer and the handle of the directory."""
        peer = RpcPeer(self.one.address, source=ELSEWHERE)
        self.addCleanup(peer.close)
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        directory = peer.lookup(peer.mount("/files"), "large")
        wait_until(lambda: self.grant(peer) >= CALLS, "all credits are granted")
        return peer, opaque(directory)

    @staticmethod
    def grant(peer):
        xid = peer.next_xid()
        peer.send(header(xid, credits=CALLS) + call(xid))
        return peer.reply_to(xid)[0][2]

    def request_listings(self, peer, directory):
        for _ in range(CALLS):
            xid = peer.next_xid()
            arguments = directory + struct.pack(">Q8sII", 0, bytes(8), LARGEST, LARGEST)
            chunks = bytes(8) + reply_chunk(segment(xid, LARGEST + 4096, 0))
            peer.send(header(xid, MSG, chunks, credits=CALLS) + call(xid, NFS, 3, READDIRPLUS, arguments))

    def list_as_others(self):
        for directory, entries in (("small", 1), ("large", ENTRIES)):
            listed = self.nfs("--timeout", "300", "ls", self.one.url(f"/files/{directory}"))
            self.assertEqual(len(listed.splitlines()), entries)

    def assert_little_memory(self, before):
        self.assertLess(self.one.resident_kib() - before, MOST)

    def test_memory_is_bounded_and_others_are_served(self):
        self.list_as_others()
        before = self.one.resident_kib()
        greedy = [self.greedy() for _ in range(scaled(60, 40, 24))]
        calls = self.one.counters()["calls"]
        for peer, directory in greedy:
            self.request_listings(peer, directory)
        wait_until(lambda: self.one.counters()["calls"] >= calls + len(greedy) * CALLS, "all calls have arrived")
        # Bulk budget is reserved for some of the greedy listings: the I/O threads make those first, then these.
        self.list_as_others()
        self.assert_little_memory(before)
        for peer, _ in greedy:
            peer.close()
        wait_until(lambda: self.one.counters()["bulk"] == 0, "all listings have ended")
        self.list_as_others()
        self.assert_little_memory(before)
