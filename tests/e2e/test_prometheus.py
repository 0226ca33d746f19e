# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus itself scrapes a server; what it then knows is compared with what the clients have counted."""
import concurrent.futures
import os
import resource
import shutil
import struct
import subprocess
import threading
import unittest

from kit import nfs, rpc
from kit.case import Case
from kit.counts import Counts
from kit.fabric import OPTIONS as FABRIC_OPTIONS
from kit.fabric import iwarp_only
from kit.metrics import OPTIONS, fetch, scrape, stats, sum_of
from kit.prometheus import Prometheus
from kit.rpc import RpcPeer, call, header
from kit.trees import noise
from kit.waiting import DEADLINE_S, scaled, wait_until

SIZE = 3_000_000
PEERS = 4
OF_ONE_ADDRESS = 200  # connections from one address; the server accepts 256
HOSTILE = (b'quote"', b"line\nfeed", b"back\\slash", b"{brace}=", b"high\xff\xfe\x80", b"control\x01\x7f", b'"} 1\nforged_total 7\n')


@unittest.skipUnless(shutil.which("prometheus"), "Debian's package prometheus is not installed")
class Scraped(Case):
    timeout_s = 240

    def captured(self, counts, server, program, *arguments):
        """Runs a program, and adds the messages that its capture shows to `counts`."""
        path = self.folder / f"{program}-{len(list(self.folder.iterdir()))}.pcapng"
        done = self.run_program(program, *FABRIC_OPTIONS, "--capture", f"{path},snap=0", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        counts.add_capture(path, server.port)

    def copy(self, counts, server):
        source = self.folder / "source"
        source.write_bytes(noise(SIZE, 1))
        self.captured(counts, server, "rpcrdma-nfs", "put", source, server.url("memory/f"))
        counts.data(("nfs", "WRITE"), "read", SIZE)
        self.captured(counts, server, "rpcrdma-nfs", "get", server.url("memory/f"), self.folder / "back")
        counts.data(("nfs", "READ"), "write", SIZE)

    def small_calls(self, counts, server, end):
        """Calls several procedures again and again until `end` is set."""
        with RpcPeer(server.address) as peer:
            def exchange(program, procedure, arguments):
                xid = peer.next_xid()
                message = header(xid) + call(xid, program, 3, procedure, arguments)
                counts.sent(message)
                peer.send(message)
                reply = peer.receive_opcode(rpc.SEND, rpc.SEND_INVALIDATE).payload
                counts.received(reply)
                return reply[16 + 12 + 24:]

            results = exchange(rpc.MOUNT, 1, rpc.opaque(b"/memory"))
            status, length = struct.unpack_from(">II", results)
            self.assertEqual(status, 0)
            root = results[8:8 + length]
            while not end.is_set():
                for procedure, arguments in ((0, b""), (rpc.GETATTR, rpc.opaque(root)), (rpc.FSSTAT, rpc.opaque(root)),
                                             (rpc.LOOKUP, nfs.place(root, b"none"))):
                    exchange(rpc.NFS, procedure, arguments)

    def test_sums_under_load(self):
        server = self.server(options=[*OPTIONS, "--threads", "2"])
        end = threading.Event()
        parts = [Counts() for _ in range(PEERS + 2)]
        with Prometheus(self.folder / "prometheus", server.metrics) as prometheus, \
             concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
            try:
                running = [pool.submit(self.small_calls, one, server, end) for one in parts[2:]]
                running += [pool.submit(self.copy, parts[0], server),
                            pool.submit(self.captured, parts[1], server, "rpcrdma-ping", "--count", scaled(5000, 2000, 200),
                                        server.address)]
                seen = set()

                def scraped_again():
                    seen.add(prometheus.value("sum(rpcrdma_calls_total)"))
                    return len(seen - {None}) >= 3

                wait_until(scraped_again, "three scrapes under load", interval_s=0.1)
            finally:
                end.set()
            for one in running:
                one.result()
            wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connections")
            prometheus.wait_for_a_scrape()
            self.compare(prometheus, parts)
            self.assertEqual(prometheus.value("min(up)"), 1)
            self.assertEqual(prometheus.value("sum(rpcrdma_connections_accepted_total)"), PEERS + 3)
            self.assertEqual(prometheus.value("sum(rpcrdma_calls_total)"), server.counters()["calls"])

    def compare(self, prometheus, parts):
        counted = Counts()
        for one in parts:
            self.assertEqual(one.waiting, {})
            counted += one
        self.assertGreaterEqual(len(counted.calls), 10)

        def by_procedure(family):
            found = prometheus.query(f"sum by (program, procedure) ({family})")
            return {(dict(labels)["program"], dict(labels)["procedure"]): value for labels, value in found.items()}

        self.assertEqual(by_procedure("rpcrdma_calls_total"), counted.calls)
        self.assertEqual(by_procedure("rpcrdma_call_duration_seconds_count"), counted.calls)
        self.assertEqual(by_procedure("rpcrdma_call_size_bytes_sum"), counted.call_bytes)
        self.assertEqual(by_procedure("rpcrdma_reply_size_bytes_sum"), counted.reply_bytes)
        moved = prometheus.query("sum by (operation) (rpcrdma_operation_bytes_total)")
        self.assertEqual({dict(labels)["operation"]: value for labels, value in moved.items()}, counted.moved)


class Labels(Case):
    timeout_s = 240

    def hostile_calls(self, server, number, source):
        """One connection, whose names are all hostile."""
        name = HOSTILE[number % len(HOSTILE)]
        peer = RpcPeer(server.address, source)
        self.addCleanup(peer.close)
        root = peer.mount("/memory")
        for program, procedure, arguments in ((rpc.NFS, rpc.LOOKUP, nfs.place(root, b"%b %d" % (name, number))),
                                              (rpc.MOUNT, 1, rpc.opaque(b"/%b%d" % (name, number)))):
            xid = peer.next_xid()
            peer.send(header(xid) + call(xid, program, 3, procedure, arguments, machine=b"%b %d" % (name, number)))
            peer.reply_to(xid)

    @iwarp_only("with RDMA devices the test would need one device address for each 256 connections")
    def test_a_thousand_clients_with_hostile_names(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        exports = ["memory:/memory", *(os.fsdecode(b"memory:/" + name.replace(b"/", b"")) for name in HOSTILE)]
        server = self.server(exports=exports, options=[*OPTIONS, "--max-connections", "1100"])
        self.hostile_calls(server, 0, "127.0.1.1")
        before = scrape(server)
        count = scaled(1000, 1000, 50)
        for number in range(1, count):
            self.hostile_calls(server, number, f"127.0.{number // OF_ONE_ADDRESS + 1}.{number % OF_ONE_ADDRESS + 1}")
        wait_until(lambda: sum_of(scrape(server), "rpcrdma_calls_total") == 3 * count, "a new report")
        after = scrape(server)
        self.assertEqual(sum_of(after, "rpcrdma_connections"), count)
        # A name that no export has, or that is not permitted, has one of few statuses.
        added = set(after) - set(before)
        self.assertLessEqual({family for family, _ in added}, {"rpcrdma_failures_total"})
        self.assertLessEqual(len(added), 3)
        for _, labels in after:
            for name, value in labels:
                self.assertRegex(value, r"\A[0-9.]+:\d+\Z" if name == "listener" else r"\A[A-Za-z0-9_.+-]+\Z")
        self.assertLessEqual(len(stats(server)["busiest_connections"]), 64)
        text = fetch(server, "/metrics")[2]
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        if shutil.which("prometheus"):
            with Prometheus(self.folder / "prometheus", server.metrics) as prometheus:
                prometheus.wait_for_a_scrape()
                self.assertEqual(prometheus.value("min(up)"), 1)
                self.assertEqual(list(prometheus.query("scrape_samples_scraped").values()), [len(after)])
