# SPDX-License-Identifier: BSD-3-Clause
"""Peers that break MPA's connection set-up, do not start it, or stop during or after it; and crowds of peers."""
import os
import resource
import socket
import struct

from kit.case import Case
from kit.fabric import iwarp_only
from kit.waiting import DEADLINE_S, scaled, wait_until
from kit.wire import iwarp
from kit.wire.iwarp import CRC_BIT, ENHANCED_BIT, REJECT_BIT, Peer, mpa_request, rfc8797
from kit.wire.rpc import RpcPeer


@iwarp_only("breaks MPA's set-up byte by byte; hostile_peers tests connections on every fabric")
class HostileSetup(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()

    def served(self):
        """A client that keeps the rules is served."""
        self.assertEqual(self.ls(self.one.url("/files")), [])

    def refused(self, octets, reply_is_allowed=False):
        """The server ends a connection on which it receives these bytes: without a Reply or, if allowed, after one."""
        with Peer(self.one.address) as peer:
            peer.raw(octets)
            rest = peer.rest()
            if not (reply_is_allowed and rest.startswith(iwarp.REPLY_KEY)):
                self.assertEqual(rest, b"")
        self.served()

    def test_garbage(self):
        # [5044-7.1.1-b]
        self.refused(bytes(range(256)) * 4)
        self.refused(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.refused(b"\x80\x00\x00\x28" + os.urandom(40))

    def test_reply_where_a_request_belongs(self):
        # [5044-7.1.2-i]
        self.refused(mpa_request(key=iwarp.REPLY_KEY))

    def test_private_data_beyond_512(self):
        # [5044-7.1.1-h] [5044-7.1.2-k]
        self.refused(mpa_request(length=513))
        self.refused(mpa_request(length=65535))
        self.refused(mpa_request(bytes(509)))

    def test_private_data_of_512(self):
        with Peer(self.one.address) as peer:
            peer.handshake(private=bytes(500) + rfc8797())

    def test_enhanced_without_its_four_octets(self):
        # [6581-6-d]
        self.refused(iwarp.REQUEST_KEY + struct.pack(">BBH", ENHANCED_BIT, 2, 2) + b"\0\0", reply_is_allowed=True)

    def test_unknown_revisions(self):
        # [5044-7.1.1-g]
        self.refused(mpa_request(revision=0), reply_is_allowed=True)
        self.refused(mpa_request(revision=3), reply_is_allowed=True)

    def test_revision_1_is_accepted(self):
        # [6581-6-c] [6581-10-b]
        with Peer(self.one.address) as peer:
            flags, revision, private = peer.handshake(flags=0, revision=1)
            self.assertEqual((flags & (ENHANCED_BIT | REJECT_BIT), revision), (0, 1))
            self.assertIn(struct.pack(">IB", 0xF6AB0E18, 1), private)

    def test_reply_follows_the_request(self):
        # [6581-9.1-b] [6581-9.2-c] [6581-10-a] [5044-7.1.1-d]
        with Peer(self.one.address) as peer:
            flags, revision, private = peer.handshake(inbound=7, outbound=3, crc=True)
            self.assertEqual((flags & ENHANCED_BIT, flags & REJECT_BIT, revision), (ENHANCED_BIT, 0, 2))
            self.assertTrue(flags & CRC_BIT)
            inbound, outbound = struct.unpack_from(">HH", private)
            self.assertEqual(inbound & 0xC000, 0)  # the Reply also selects the client-server model
            self.assertLessEqual(outbound & 0x3FFF, 7)

    def test_half_a_request_then_silence(self):
        # [5044-7.1.2-j]
        with Peer(self.one.address) as peer, Peer(self.one.address) as other:
            peer.raw(mpa_request(rfc8797())[:11])
            other.raw(mpa_request(rfc8797())[:25])
            self.served()
            self.assertEqual(peer.rest(), b"")  # the set-up timeout ends the connection
            self.assertEqual(other.rest(), b"")

    def test_silence(self):
        with Peer(self.one.address) as peer:
            self.assertEqual(peer.rest(), b"")
        self.served()

    def test_requests_of_any_length_then_an_end(self):
        idle = self.one.descriptors()
        request = mpa_request(rfc8797())
        for length in range(len(request)):
            with Peer(self.one.address) as peer:
                peer.raw(request[:length])
        self.served()
        wait_until(lambda: self.one.descriptors() <= idle, "the descriptors of connections that ended")

    def test_half_an_fpdu_then_silence(self):
        with RpcPeer(self.one.address) as peer:
            peer.null()
            peer.raw(iwarp.fpdu(iwarp.untagged(iwarp.SEND, 0, 2, bytes(100)))[:50])
            self.served()
        wait_until(lambda: self.one.counters()["connections"] == 0, "the connection's end")

    def test_connection_ends_right_after_the_request(self):
        for _ in range(50):
            with Peer(self.one.address) as peer:
                peer.raw(mpa_request(rfc8797()))
                peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.served()
        wait_until(lambda: self.one.counters()["connections"] == 0, "the connections' end")


@iwarp_only("makes TCP connections without MPA's set-up")
class IdleConnections(Case):
    serial = True
    timeout_s = 300

    def crowd(self, count, source):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 200)), hard))
        host, port = self.one.address.split(":")
        for _ in range(count):
            peer = socket.socket()
            self.addCleanup(peer.close)
            peer.bind((source, 0))
            try:
                peer.connect((host, int(port)))
            except ConnectionError:
                continue
            yield peer

    def test_thousands_that_say_nothing(self):
        """The number of connections from one address is bounded: a client at another address is still accepted."""
        self.one = self.server()
        idle = self.one.descriptors()
        crowd = list(self.crowd(scaled(4000, 1000), "127.0.0.9"))
        self.assertGreater(len(crowd), 100)
        self.assertEqual(self.ls(self.one.url("/files")), [])
        for peer in crowd:
            peer.close()
        wait_until(lambda: self.one.descriptors() <= idle, "the descriptors of all these connections")

    def test_hundreds_past_their_set_up(self):
        self.one = self.server(options=["--max-connections", "64"])
        established = 0
        kept = []
        for peer in self.crowd(300, "127.0.0.9"):
            peer.settimeout(DEADLINE_S)
            try:
                peer.sendall(mpa_request(rfc8797()))
                reply = peer.recv(20)
            except ConnectionError:
                reply = b""
            if len(reply) == 20 and not reply[16] & REJECT_BIT:
                established += 1
                kept.append(peer)
        self.assertLessEqual(established, 64)
        self.assertGreater(established, 0)
        self.assertLessEqual(self.one.counters()["connections"], 64)
        for peer in kept[:8]:
            peer.close()
        wait_until(lambda: self.one.counters()["connections"] <= 56, "room")
        self.assertEqual(self.ls(self.one.url("/files")), [])
