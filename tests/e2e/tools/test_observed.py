# SPDX-License-Identifier: BSD-3-Clause
"""Faults made on purpose: each changes the figure that docs/observability.md names for it."""
import os
import socket
import struct
import sys
import unittest

from kit.case import Case
from kit.fabric import iwarp_only
from kit.hung import HungFileSystem
from kit.metrics import OPTIONS, samples, scrape, stats, sum_of
from kit.namespace import Namespace, missing_tools
from kit.proxy import Proxy
from kit.server import binary
from kit.trees import noise
from kit.waiting import wait_until
from kit.wire import nfs
from kit.wire.rpc import ERR_CHUNK, ERR_VERS, GETATTR, LOOKUP, MKDIR, MSG, NFS, READ, WRITE, RpcPeer, call, header, opaque, \
    read_list, segment, write_list

SIZE = 1_000_000
SLOW_S = 0.1  # the delay of each LOOKUP on the slow disk
# Drops every fifth of the large packets that the server sends.
LOSSES = """
table inet lossy {{
  chain incoming {{
    type filter hook input priority 0
    tcp sport {port} meta length > 1000 numgen inc mod 5 0 drop
  }}
}}
"""


class Observed(Case):
    def figure(self, server, name, **labels):
        return sum_of(scrape(server), "rpcrdma_" + name, **labels)

    def grows(self, server, name, least=1, **labels):
        wait_until(lambda: self.figure(server, name, **labels) >= least, f"{name} {labels} of {least}")

    def peer(self, server, **handshake):
        peer = RpcPeer(server.address, **handshake)
        self.addCleanup(peer.close)
        return peer

    def source(self):
        path = self.folder / "source"
        path.write_bytes(noise(SIZE, 1))
        return path


@iwarp_only("peers and proxies that speak iWARP")
class Clients(Observed):
    """Figures that point to a client."""

    def test_a_peer_without_remote_invalidation(self):
        server = self.server(options=OPTIONS)
        peer = self.peer(server, private=b"")
        peer.null()
        self.assertEqual([one["remote_invalidation"] for one in stats(server)["busiest_connections"]], [False])
        handle = peer.lookup(peer.mount("/memory"), ".")
        xid = peer.next_xid()
        chunks = bytes(4) + write_list([segment(1, 4096, 0)]) + bytes(4)
        peer.send(header(xid, MSG, chunks) + call(xid, NFS, 3, READ, opaque(handle) + struct.pack(">QI", 0, 4096)))
        peer.reply_to(xid)
        self.assertEqual(self.figure(server, "sends_with_invalidate_total"), 0)
        self.nfs("put", self.source(), server.url("memory/f"))  # this client announces remote invalidation
        self.grows(server, "sends_with_invalidate_total")

    def test_another_version_of_the_protocol(self):
        server = self.server(options=OPTIONS)
        peer = self.peer(server)
        xid = peer.next_xid()
        self.assertEqual(peer.transport_error(header(xid, version=7) + call(xid), xid)[1], ERR_VERS)
        self.grows(server, "errors_total", code="ERR_VERS")
        self.assertEqual(self.figure(server, "errors_total"), 1)

    def test_a_header_that_cannot_be_read(self):
        server = self.server(options=OPTIONS)
        peer = self.peer(server)
        xid = peer.next_xid()
        self.assertEqual(peer.transport_error(header(xid, MSG, struct.pack(">III", 2, 0, 0)) + call(xid), xid)[1], ERR_CHUNK)
        self.grows(server, "errors_total", code="ERR_CHUNK")
        self.assertEqual(self.figure(server, "errors_total"), 1)

    def test_a_stale_handle(self):
        server = self.server(options=OPTIONS)
        peer = self.peer(server)
        top = peer.mount("/memory")
        status, rest = nfs.ask(peer, *nfs.create(top, b"f"))
        self.assertEqual(status, 0)
        handle = nfs.handle_of_new(rest)
        self.nfs("rm", server.url("memory/f"))
        self.assertEqual(nfs.ask(peer, GETATTR, opaque(handle))[0], nfs.STALE)
        self.grows(server, "failures_total", procedure="GETATTR", status="70")

    def test_a_user_without_permission(self):
        server = self.server(options=OPTIONS)
        self.nfs("put", self.source(), server.url("memory/f"))
        self.nfs("chmod", "600", server.url("memory/f"))
        self.nfs_fails("--uid", "12345", "--gid", "12345", "cat", server.url("memory/f"))
        self.grows(server, "failures_total", status="13")

    def test_a_call_sent_again(self):
        server = self.server(options=OPTIONS)
        xid, replies = 0x1D0F00D5, []
        for _ in range(2):
            with RpcPeer(server.address) as peer:
                top = peer.mount("/memory")
                peer.send(header(xid) + call(xid, NFS, 3, MKDIR, nfs.mkdir(top, b"d")[1]))
                replies.append(peer.reply_to(xid)[1])
        self.assertEqual(*replies)
        self.grows(server, "duplicate_calls_total", result="replayed")
        self.assertEqual(self.figure(server, "replayed_total", procedure="MKDIR"), 1)

    def test_a_client_that_serves_one_read_at_a_time(self):
        server = self.server(options=OPTIONS)
        peer = self.peer(server, inbound=1)
        handle = nfs.handle_of_new(nfs.ask(peer, *nfs.create(peer.mount("/memory"), b"f"))[1])
        self.assertEqual(self.figure(server, "waits_total", resource="read_depth"), 0)
        size, parts = 4096, 4
        body = call(peer.next_xid(), NFS, 3, WRITE, opaque(handle) + struct.pack(">QIII", 0, size, 2, size))
        segments = [(len(body), segment(1, size // parts, i * size // parts)) for i in range(parts)]
        peer.send(header(peer.xid, MSG, read_list(*segments) + bytes(8)) + body)
        self.grows(server, "waits_total", resource="read_depth")
        wait_until(lambda: stats(server)["busiest_connections"][0]["traffic"]["reads"] == parts, "the Reads")

    def test_a_client_that_does_not_read(self):
        server = self.server(options=OPTIONS)
        self.nfs("put", self.source(), server.url("memory/f"))
        peer = self.peer(server)
        handle = peer.lookup(peer.mount("/memory"), "f")
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.null()
        size, parts = 1 << 18, 64  # the replies exceed the send buffer
        for _ in range(16):
            xid = peer.next_xid()
            chunks = bytes(4) + write_list([segment(1, size // parts, i * size) for i in range(parts)]) + bytes(4)
            peer.send(header(xid, MSG, chunks) + call(xid, NFS, 3, READ, opaque(handle) + struct.pack(">QI", 0, size)))
        self.grows(server, "waits_total", resource="send_queue")
        self.assertGreater(max(one["calls_in_progress"] for one in stats(server)["busiest_connections"]), 0)


@iwarp_only("the proxy relays iWARP")
class Network(Observed):
    """Figures that point to the network."""

    def copy_through(self, *rules):
        server = self.server(options=[*OPTIONS, "--crc", "on"])
        with Proxy(self.folder, server.address, *rules) as proxy:
            self.nfs("--crc", "on", "put", "-r", self.tree(), proxy.url("memory/tree"))
        return server

    def tree(self):
        tree = self.folder / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub/file").write_bytes(noise(SIZE, 2))
        return tree

    def test_a_damaged_frame(self):
        server = self.copy_through("flip call 4 crc=keep dir=to-server")
        self.grows(server, "iwarp_crc_errors_total")
        self.assertEqual(self.figure(server, "iwarp_crc_errors_total"), 1)

    def test_a_connection_that_is_cut(self):
        server = self.copy_through("cut call 4")
        self.grows(server, "connections_accepted_total", 2)
        wait_until(lambda: self.figure(server, "connections") == 0, "the end of the connections")

    def test_a_reply_that_is_lost(self):
        server = self.copy_through("drop-reply mkdir")
        self.grows(server, "duplicate_calls_total")
        self.grows(server, "connections_accepted_total", 2)


class Limits(Observed):
    """Figures that point to the server."""

    def test_few_credits(self):
        server = self.server(options=[*OPTIONS, "--credits", "2"])
        self.nfs("put", self.source(), server.url("memory/f"))
        wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connection")
        calls = self.figure(server, "calls_total")
        asked, granted = (self.figure(server, "credits_total", kind=kind) for kind in ("asked", "granted"))
        self.assertEqual(granted, 2 * calls)
        self.assertGreater(asked, granted)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
@unittest.skipIf(missing_tools("unshare", "nsenter", "ip", "nft"), "a tool is not installed")
@iwarp_only("an adapter counts its own losses")
class LossyLink(Observed):
    """The loopback interface of a network namespace, which loses packets."""

    READ = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1]).read().decode())"

    def setUp(self):
        super().setUp()
        self.space = Namespace()
        self.addCleanup(self.space.close)
        if not self.space.usable:
            self.skipTest("no network namespaces here: " + self.space.holder.stderr.read())
        self.one = self.server(options=OPTIONS, prefix=self.space.prefix())

    def run_inside(self, *command):
        done = self.space.run(*map(str, command))
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def figures(self):
        return samples(self.run_inside(sys.executable, "-c", self.READ, f"http://{self.one.metrics}/metrics"))

    def copy(self, *arguments):
        self.run_inside(binary("rpcrdma-nfs"), "--fabric", "iwarp", *arguments)

    def lose_packets(self):
        rules = self.folder / "rules"
        rules.write_text(LOSSES.format(port=self.one.port))
        done = self.space.run("nft", "-f", str(rules))
        if done.returncode != 0:
            self.skipTest("no packet filter here: " + done.stderr)

    def test_a_link_that_loses_packets(self):
        self.copy("put", self.source(), self.one.url("memory/f"))
        self.lose_packets()
        self.copy("get", self.one.url("memory/f"), self.folder / "back")
        self.assertEqual((self.folder / "back").read_bytes(), noise(SIZE, 1))
        seen = self.figures()
        self.assertGreater(sum_of(seen, "rpcrdma_iwarp_retransmissions_total"), 0)
        # TCP has repaired the losses: no connection was lost, and no call was sent again.
        self.assertEqual(sum_of(seen, "rpcrdma_connections_accepted_total"), 2)
        self.assertEqual(sum_of(seen, "rpcrdma_duplicate_calls_total"), 0)


@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/fuse"), "needs root and FUSE")
@unittest.skipIf(missing_tools("unshare", "nsenter"), "util-linux is not installed")
@iwarp_only("calls hang in the file system whatever the fabric is")
class SlowDisk(Observed):
    def file_system(self):
        """A file system, and a server that exports it as /hung."""
        hung = HungFileSystem(self.folder / "hung")
        self.addCleanup(hung.close)
        if not hung.usable:
            self.skipTest("no FUSE here: " + hung.process.stderr.read())
        return hung, self.server([f"{self.folder / 'hung'}:/hung", "memory:/memory"], options=OPTIONS, prefix=hung.prefix())

    def test_a_slow_disk(self):
        """Each LOOKUP takes at least the delay of the slow disk, and all calls are answered."""
        slow, server = self.file_system()
        peer = self.peer(server)
        top, memory = peer.mount("/hung"), peer.mount("/memory")
        slow.slow_down(SLOW_S)
        for index in range(5):
            self.assertEqual(nfs.ask(peer, LOOKUP, nfs.place(top, b"name%d" % index))[0], nfs.NOENT)
            self.assertEqual(nfs.ask(peer, GETATTR, opaque(memory))[0], 0)
        self.grows(server, "call_duration_seconds_count", 5, procedure="LOOKUP")
        faster = [value for (name, labels), value in scrape(server).items()
                  if name == "rpcrdma_call_duration_seconds_bucket" and ("procedure", "LOOKUP") in labels and
                  float(dict(labels)["le"]) <= SLOW_S]
        self.assertGreater(len(faster), 5)
        self.assertEqual(set(faster), {0})
        self.assertEqual([one["calls_in_progress"] for one in stats(server)["busiest_connections"]], [0])

    def test_a_disk_that_does_not_answer(self):
        hung, server = self.file_system()
        peer = self.peer(server)
        top = peer.mount("/hung")
        hung.hang()
        try:
            for index in range(3):
                xid = peer.next_xid()
                peer.send(header(xid) + call(xid, NFS, 3, LOOKUP, nfs.place(top, b"name%d" % index)))
            wait_until(lambda: [one["calls_in_progress"] for one in stats(server)["busiest_connections"]] == [3],
                       "three calls in progress")
            self.nfs("ls", server.url("memory"))
            self.assertEqual(max(one["calls_in_progress"] for one in stats(server)["busiest_connections"]), 3)
        finally:
            hung.close()
