# SPDX-License-Identifier: BSD-3-Clause
"""Log lines name the connection and the call that they are about, as the statistics do. Listeners count connections."""
import json
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

from kit.case import Case
from kit.fabric import iwarp_only
from kit.metrics import OPTIONS, scrape, stats, sum_of
from kit.server import binary
from kit.waiting import scaled, wait_until
from kit.wire import nfs, pcapng
from kit.wire.rpc import ERR_CHUNK, MKDIR, MSG, NFS, RpcPeer, call, header
from kit.wire.tcp import TcpPeer, record

TOP = Path(__file__).resolve().parents[3] / "tools" / "top" / "rpcrdma-top"
TEXT = re.compile(r"\S+ rpcrdma-nfsd\[\d+\] (\w+): (?:conn=(\d+) )?(?:peer=(\S+) fabric=(\w+)(?: xid=([0-9a-f]{8}))?: )?(.*)")


def name_of(peer):
    """The local address of `peer`, as the server names it."""
    host, port = peer.socket.getsockname()[:2]
    return f"{host}:{port}"


class Lines(Case):
    """The formats `text` and `json` of the log have the same content."""

    form = "text"

    def start(self, *options):
        return self.server(options=[*OPTIONS, "--log-level", "debug", "--log-format", self.form, "--tcp-listen", "127.0.0.1:0",
                                    *options])

    def lines(self, server):
        """The complete lines of the log as (connection, peer, fabric, xid, message); None for what a line does not have."""
        for line in server.log().splitlines(keepends=True):
            if not line.endswith("\n") or line.startswith("counters "):
                continue
            if self.form == "json":
                one = json.loads(line)
                yield tuple(one.get(name) for name in ("connection", "peer", "fabric", "xid")) + (one["message"],)
            else:
                match = TEXT.fullmatch(line.rstrip("\n"))
                self.assertTrue(match, line)
                _, connection, peer, fabric, xid, message = match.groups()
                yield connection and int(connection), peer, fabric, xid, message

    def found(self, server, text):
        """Waits for a line with `text`, which must be the only one; returns the line."""
        wait_until(lambda: any(text in line[4] for line in self.lines(server)), f"a line with {text!r}")
        lines = [line for line in self.lines(server) if text in line[4]]
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def listed(self, server, peer):
        """(connection, peer, fabric) of the connection of `peer` in /stats.json."""
        wait_until(lambda: name_of(peer) in [one["peer"] for one in stats(server)["busiest_connections"]], "the connection")
        one = next(one for one in stats(server)["busiest_connections"] if one["peer"] == name_of(peer))
        return one["connection"], one["peer"], one["fabric"]

    def follow(self, server, peer, text):
        """Ends the connection of `peer`. Checks that its log lines agree with the statistics,
        and that the first contains `text`."""
        about = self.listed(server, peer)
        first = [line for line in self.lines(server) if line[0] == about[0]]
        self.assertIn(text, first[0][4])
        peer.close()
        wait_until(lambda: any(line[0] == about[0] and "connection ended: " in line[4] for line in self.lines(server)),
                   "the line about its end")
        for line in self.lines(server):
            if line[0] == about[0] or line[1] == about[1]:
                self.assertEqual(line[:3], about, line)
        return about

    @iwarp_only("drives iWARP by hand")
    def test_a_connection_from_accept_to_end(self):
        server = self.start()
        peers = [RpcPeer(server.address) for _ in range(3)]
        for peer in peers:
            peer.null()
        seen = [self.follow(server, peer, "connected: ") for peer in peers]
        self.assertEqual(len({about[0] for about in seen}), 3)
        self.assertEqual({about[2] for about in seen}, {"iwarp"})

    @iwarp_only("drives iWARP by hand")
    def test_a_capture_names_the_same_number(self):
        capture = self.folder / "capture.pcapng"
        server = self.start("--capture", str(capture))
        TcpPeer(server.tcp[0]).null()  # takes the first number
        peer = RpcPeer(server.address)
        peer.null()
        number = self.follow(server, peer, "connected: ")[0]
        server.stop()
        opened = [packet.comment for packet in pcapng.packets(capture) if " accepted by this side" in packet.comment]
        self.assertEqual([comment.split(":")[0] for comment in opened], [f"connection {number}"])

    def test_a_connection_over_tcp(self):
        server = self.start()
        peer = TcpPeer(server.tcp[0])
        peer.null()
        self.assertEqual(self.follow(server, peer, "connection accepted")[2], "tcp")

    @iwarp_only("drives iWARP by hand")
    def test_a_garbled_call(self):
        server = self.start()
        peer = RpcPeer(server.address)
        peer.null()
        xid = 0x0BAD0001
        self.assertEqual(peer.transport_error(header(xid, MSG, struct.pack(">III", 2, 0, 0)) + call(xid), xid)[1], ERR_CHUNK)
        line = self.found(server, "call answered by RDMA_ERROR ERR_CHUNK: malformed chunk lists")
        self.assertEqual(line[:4], (*self.listed(server, peer), "0bad0001"))
        peer.close()

    def test_a_rejected_call(self):
        server = self.start()
        with TcpPeer(server.tcp[0]) as peer:
            peer.null()
            peer.socket.sendall(record(call(0x0BAD0002, 100099, 1, 0)))
            peer.reply()
            line = self.found(server, "call rejected: program not served")
            self.assertEqual(line[:4], (*self.listed(server, peer), "0bad0002"))

    @iwarp_only("drives iWARP by hand")
    def test_a_call_that_the_cache_answers(self):
        server = self.start()
        xid, peers = 0x1D0F00D6, []
        for _ in range(2):
            peers.append(RpcPeer(server.address))
            top = peers[-1].mount("/memory")
            peers[-1].send(header(xid) + call(xid, NFS, 3, MKDIR, nfs.mkdir(top, b"d")[1]))
            peers[-1].reply_to(xid)
        line = self.found(server, "call answered from the duplicate request cache")
        self.assertEqual(line[:4], (*self.listed(server, peers[1]), "1d0f00d6"))
        for peer in peers:
            peer.close()

    @iwarp_only("drives iWARP by hand")
    def test_a_peer_that_breaks_the_protocol(self):
        server = self.start()
        peer = RpcPeer(server.address)
        peer.null()
        about = self.listed(server, peer)
        peer.raw(bytes(64))
        self.assertEqual(self.found(server, "data from the peer violates the iWARP protocol")[:3], about)
        self.assertEqual(self.found(server, "connection ended: ")[:3], about)
        peer.close()

    @iwarp_only("drives iWARP by hand")
    def test_a_refused_connection(self):
        server = self.start("--max-connections", "1")
        with RpcPeer(server.address) as first:
            first.null()
            with self.assertRaises((AssertionError, OSError)), RpcPeer(server.address) as second:
                second.null()
            line = self.found(server, "connection rejected: ")
            self.assertNotEqual(line[:3], self.listed(server, first))
            self.assertEqual(line[2], "iwarp")
            self.assertIsNotNone(line[0])

    def test_rpcrdma_top_shows_the_number(self):
        server = self.start()
        with TcpPeer(server.tcp[0]) as peer:
            peer.null()
            number = self.listed(server, peer)[0]
            for options, expected in (([], rf"(?m)^{number} +{re.escape(name_of(peer))} "),
                                      (["--json"], rf'"connection": {number}, "peer": "{re.escape(name_of(peer))}"')):
                done = subprocess.run([sys.executable, TOP, "--once", *options, server.metrics], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=True)
                self.assertRegex(done.stdout, expected)

    @iwarp_only("drives iWARP by hand")
    def test_repeated_faults_are_not_all_logged(self):
        server = self.start()
        count = scaled(400, 200, 100)
        with RpcPeer(server.address) as peer:
            for _ in range(count):
                xid = peer.next_xid()
                peer.transport_error(header(xid, MSG, struct.pack(">III", 2, 0, 0)) + call(xid), xid)
        self.assertEqual(sum_of(scrape(server), "rpcrdma_errors_total"), count)
        lines = [line for line in self.lines(server) if "RDMA_ERROR" in line[4]]
        self.assertGreaterEqual(len(lines), 20)
        self.assertLess(len(lines), count)


class JsonLines(Lines):
    form = "json"


class Listeners(Case):
    @iwarp_only("drives iWARP by hand")
    def test_each_listener_counts_its_connections(self):
        server = self.server(listen=("127.0.0.1:0", "127.0.0.1:0"),
                             options=[*OPTIONS, "--tcp-listen", "127.0.0.1:0", "--max-connections", "2"])
        names = [*server.rdma, server.tcp[0]]

        def listed():
            return {one["listener"]: one for one in stats(server)["listeners"]}

        def figures(name):
            return tuple(listed()[name][field] for field in ("open", "accepted", "refused", "failed"))

        self.assertEqual([one["listener"] for one in stats(server)["listeners"]], names)
        self.assertEqual([one["fabric"] for one in stats(server)["listeners"]], ["iwarp", "iwarp", "tcp"])
        first, second = RpcPeer(names[0]), RpcPeer(names[1])
        first.null()
        second.null()
        wait_until(lambda: figures(names[1]) == (1, 1, 0, 0), "the connection of the second listener")
        with self.assertRaises((AssertionError, OSError)), RpcPeer(names[1]) as third:
            third.null()
        wait_until(lambda: figures(names[1]) == (1, 1, 1, 0), "the refusal")
        self.assertEqual(figures(names[0]), (1, 1, 0, 0))
        first.close()
        wait_until(lambda: figures(names[0]) == (0, 1, 0, 0), "the end of the first connection")
        TcpPeer(names[0]).close()  # says nothing, as port scanners do
        wait_until(lambda: figures(names[0]) == (0, 1, 0, 1), "the handshake that has failed")
        tcp = [TcpPeer(names[2]) for _ in range(3)]
        wait_until(lambda: figures(names[2]) == (2, 2, 1, 0), "two connections over TCP")
        found = scrape(server)
        for name, fabric in zip(names, ("iwarp", "iwarp", "tcp")):
            for field, family in (("open", "connections"), ("accepted", "accepted_total"), ("refused", "refused_total"),
                                  ("failed", "failed_total")):
                self.assertEqual(sum_of(found, "rpcrdma_listener_" + family, listener=name, fabric=fabric),
                                 listed()[name][field], (name, field))
        self.assertEqual([one["traffic"]["calls"] for one in stats(server)["listeners"]], [1, 1, 0])
        self.assertEqual(sum_of(found, "rpcrdma_connections_accepted_total"), 2)
        self.assertEqual(sum_of(found, "rpcrdma_connections_refused_total"), 1)
        self.assertEqual(sum_of(found, "rpcrdma_tcp_connections_accepted_total"), 2)
        self.assertEqual(sum_of(found, "rpcrdma_tcp_connections_refused_total"), 1)
        done = subprocess.run([sys.executable, TOP, "--once", server.metrics], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=True)
        self.assertRegex(done.stdout, rf"(?m)^{re.escape(names[1])} +1 +1 +1 +0 +1 +[0-9]+B +[0-9]+B +0  iwarp$")
        for peer in (second, *tcp):
            peer.close()


class FullDisk(Case):
    """Nothing can be written to stderr. No program ends by that."""

    def test_counters(self):
        server = self.server(prefix=["sh", "-c", 'exec "$0" "$@" 2>/dev/full'])
        for _ in range(3):
            server.process.send_signal(signal.SIGUSR1)
            self.nfs("ls", server.url("/memory"))
        self.assertEqual(server.stop(), 0)

    def test_client(self):
        server = self.server()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([binary("rpcrdma-nfs"), "cat", server.url("/memory/missing")], stderr=full, check=False)
        self.assertEqual(done.returncode, 1)
