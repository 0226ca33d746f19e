# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus itself scrapes a server; what it then knows is compared with what the clients have counted. Names
that hostile clients choose do not become labels."""
import concurrent.futures
import os
import re
import resource
import shutil
import struct
import subprocess
import threading
from pathlib import Path

from kit.case import Case
from kit.fabric import FABRIC, iwarp_only, iwarp_peers_only
from kit.fabric import OPTIONS as FABRIC_OPTIONS
from kit.metrics import OPTIONS, fetch, scrape, stats, sum_of
from kit.prometheus import Prometheus
from kit.scraped import BY_HAND, CONNECTIONS, EXACT, Scraped
from kit.server import binary
from kit.trees import noise
from kit.waiting import DEADLINE_S, scaled, wait_until
from kit.wire import nfs, rpc
from kit.wire.iwarp import REJECT_BIT, SEND, SEND_QUEUE, Peer, untagged
from kit.wire.rpc import MSG, NFS, NOMSG, RpcPeer, call, header, opaque, read_list, reply_chunk, write_list
from kit.wire.tcp import TcpPeer

SIZE = 3_000_000
PEERS = 4
OF_ONE_PREFIX = 200  # client addresses that differ only in the last byte
HOSTILE = (b'quote"', b"line\nfeed", b"back\\slash", b"{brace}=", b"high\xff\xfe\x80", b"control\x01\x7f", b'"} 1\nforged_total 7\n')


class Load(Scraped):
    """The programs and clients written by hand, at the same time."""

    def captured(self, listener, program, *arguments):
        """Runs a program, and counts the messages that its capture shows. Returns these counts and the output."""
        counts = self.counts(listener)
        path = self.folder / f"{len(self.parts)}-{program}.pcapng"
        done = self.run_program(program, *FABRIC_OPTIONS, "--capture", f"{path},snap=0", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        counts.add_capture(path, int(listener.rsplit(":", 1)[1]))
        return counts, done.stdout.decode()

    def copy(self, listener):
        source = self.folder / "source"
        source.write_bytes(noise(SIZE, 1))
        url = f"nfs://{listener}"
        self.captured(listener, "rpcrdma-nfs", "put", source, f"{url}/memory/f")
        self.captured(listener, "rpcrdma-nfs", "get", f"{url}/memory/f", self.folder / "back")
        self.captured(listener, "rpcrdma-nfs", "ls", "-l", f"{url}/files")

    def calls(self, counts, procedure):
        return sum(number for labels, number in counts.of("calls_total").items() if ("procedure", procedure) in labels)

    def programs_that_count(self, listener):
        """Compares captures with the numbers of calls that programs print. rpcrdma-ping also makes other calls."""
        count = scaled(5000, 2000, 200)
        counts, shown = self.captured(listener, "rpcrdma-ping", "--count", count, listener)
        self.assertIn(f"{count} NULL calls", shown)
        self.assertGreaterEqual(self.calls(counts, "NULL"), count)
        if not Path(binary("rpcrdma-load")).exists():
            return
        (self.files / "bulk").write_bytes(noise(SIZE, 2))
        counts, shown = self.captured(listener, "rpcrdma-load", "--seconds", "0.1", "--depth", "1", "--block", "65536",
                                      f"nfs://{listener}/files/bulk")
        self.assertEqual(self.calls(counts, "READ"), int(re.match(r"calls=(\d+) ", shown).group(1)))

    def small_calls(self, listener, end):
        """Calls several procedures again and again until `end` is set."""
        with self.peer(listener) as peer:
            root = peer.mount("/memory")
            while not end.is_set():
                peer.null()
                for procedure, arguments in ((rpc.GETATTR, opaque(root)), (rpc.FSSTAT, opaque(root)),
                                             (rpc.LOOKUP, nfs.place(root, b"none"))):
                    nfs.ask(peer, procedure, arguments)

    def test_sums_under_load(self):
        listeners, end = (*self.one.rdma, *self.one.tcp), threading.Event()
        with concurrent.futures.ThreadPoolExecutor(PEERS + 2) as pool:
            try:
                running = [pool.submit(self.small_calls, listener, end) for listener in listeners]
                running += [pool.submit(self.copy, listeners[0]), pool.submit(self.programs_that_count, listeners[1])]
                self.wait_for_three_scrapes(running)
            finally:
                end.set()
            for one in running:
                one.result()
        self.wait_for_the_last_scrape()
        counted = self.compare(by_hand=False)
        self.assertGreaterEqual(len(counted.of("calls_total")), 10)
        shown = {"send", "receive"} | ({"read"} if FABRIC == "iwarp" else set())
        self.assertEqual(self.by_labels("operations_total", f'{{operation=~"{"|".join(shown)}"}}'),
                         {labels: number for labels, number in counted.of("operations_total").items()
                          if dict(labels)["operation"] in shown})
        for family in ("long_replies_total", "failures_total", "tcp_calls_total"):
            self.assertTrue(counted.of(family), family)
        self.assertEqual(self.prometheus.value("min(up)"), 1)
        self.assertEqual(self.prometheus.value("sum(rpcrdma_calls_total)"), self.one.counters()["calls"])


@iwarp_peers_only("a device does not show its peer's Reads, Writes and frames")
class Faults(Scraped):
    """Clients written by hand, which use every kind of chunk and cause every kind of error."""

    def rejected(self, peer, handle):
        """Calls that no handler runs: one for each reason."""
        peer.make(rpc_version=3)
        peer.make(program=100099)
        peer.make(version=4)
        peer.make(procedure=99)
        peer.make(procedure=rpc.GETATTR, arguments=opaque(handle)[:8])
        peer.xid += 1
        unknown = 99  # the flavor of the credential
        message = struct.pack(">10I", peer.xid, 0, 2, NFS, 3, rpc.GETATTR, unknown, 0, 0, 0) + opaque(handle)
        peer.rpc_reply(peer.begin(peer.xid) + message)

    def both(self, peer, name):
        """Calls over either transport. Returns the export, a new directory of this name, and a file in it."""
        root = peer.mount("/files")
        self.assertEqual(nfs.ask(peer, rpc.LOOKUP, nfs.place(root, b"none"))[0], nfs.NOENT)
        self.assertEqual(nfs.ask(peer, rpc.GETATTR, opaque(bytes(len(root))))[0], nfs.BADHANDLE)
        self.rejected(peer, root)
        directory = self.made(peer, nfs.mkdir(root, name))
        return root, directory, self.made(peer, nfs.create(directory, b"file"))

    def made(self, peer, what):
        status, rest = nfs.ask(peer, *what)
        self.assertEqual(status, 0)
        return nfs.handle_of_new(rest)

    def remove(self, peer, root, directory, *names):
        """Removes what both() has made, and further directories."""
        self.assertEqual(nfs.ask(peer, rpc.REMOVE, nfs.place(directory, b"file"))[0], 0)
        for name in names:
            self.assertEqual(nfs.ask(peer, rpc.RMDIR, nfs.place(root, name))[0], 0)

    def over_tcp(self, listener, name):
        with self.peer(listener) as peer:
            root, directory, _ = self.both(peer, name)
            peer.xid += 1
            message = call(peer.xid, NFS, 3, *nfs.mkdir(root, name + b" again"))
            first, second, third = peer.replies(message, message, message)
            self.assertEqual((first, first), (second, third))
            self.remove(peer, root, directory, name, name + b" again")

    def chunks(self, peer, root, file):
        """Calls with each kind of chunk, alone and together."""
        data = noise(10007)

        def ask(procedure, arguments, lists, **keywords):
            message = call(peer.next_xid(), NFS, 3, procedure, arguments)
            reply = peer.rpc_reply(header(peer.xid, MSG, lists(message), credits=40) + message, **keywords)
            self.assertEqual(struct.unpack_from(">I", reply, 24)[0], 0)

        def readable(position, *parts):
            return read_list(*((position, peer.expose(0x100 + index, index << 40, part, readable=True).segment())
                               for index, part in enumerate(parts)))

        def room(first, *sizes):
            return [peer.expose(first + index, index << 40, bytes(size), readable=False)
                    for index, size in enumerate(sizes)]

        def segments(memory):
            return [one.segment() for one in memory]

        write = opaque(file) + struct.pack(">QIII", 0, len(data), 2, len(data))
        ask(rpc.WRITE, write, lambda message: readable(len(message), data[:1], data[1:9000], data[9000:]) + bytes(8))
        read = opaque(file) + struct.pack(">QI", 0, 1 << 20)
        ask(rpc.READ, read, lambda _: bytes(4) + write_list(segments(room(0x200, 3, 20000))) + bytes(4))
        unused = write_list(segments(room(0x300, 64))) + reply_chunk(*segments(room(0x400, 4096)))
        ask(rpc.GETATTR, opaque(file), lambda _: bytes(4) + unused)
        entries, large = opaque(root) + struct.pack(">Q8sII", 0, bytes(8), 50000, 50000), room(0x500, 5, 2000, 60000)
        ask(rpc.READDIRPLUS, entries, lambda _: bytes(8) + reply_chunk(*segments(large)), room=large)
        whole = call(peer.next_xid(), NFS, 3, *nfs.write(file, data))
        lists = readable(0, whole[:1000], whole[1000:]) + bytes(8)
        peer.rpc_reply(header(peer.xid, NOMSG, lists, credits=1), long_call=whole)

    def over_rdma(self, listener, name):
        with self.peer(listener) as peer:
            root, directory, file = self.both(peer, name)
            self.chunks(peer, root, file)
            message = header(peer.next_xid()) + call(peer.xid, NFS, 3, *nfs.mkdir(root, name + b" again"))
            self.assertEqual(peer.rpc_reply(message), peer.rpc_reply(message, again=True))
            self.remove(peer, root, directory, name, name + b" again")
            for version, lists in ((7, bytes(12)), (1, struct.pack(">III", 2, 0, 0))):
                xid = peer.next_xid()
                peer.refused(header(xid, MSG, lists, version) + call(xid), xid)
            peer.ignored(header(peer.next_xid(), rpc.DONE))
            peer.null()

    def one_read_at_a_time(self, listener, name):
        """A WRITE from four segments: three of the Reads wait."""
        with self.peer(listener, inbound=1) as peer:
            root, directory, file = self.both(peer, name)
            data = noise(4096)
            arguments = opaque(file) + struct.pack(">QIII", 0, len(data), 2, len(data))
            message = call(peer.next_xid(), NFS, 3, rpc.WRITE, arguments)
            parts = [peer.expose(0x600 + index, 0, data[index::4], readable=True) for index in range(4)]
            lists = read_list(*((len(message), one.segment()) for one in parts)) + bytes(8)
            peer.rpc_reply(header(peer.xid, MSG, lists) + message)
            peer.counts.add("waits_total", len(parts) - 1, resource="read_depth")
            self.remove(peer, root, directory, name)

    def until(self, end, client, listener):
        number = 0
        while number == 0 or not end.is_set():
            number += 1
            client(listener, b"%b of %b %d" % (client.__name__.encode(), listener.encode(), number))

    def crc_error(self, listener):
        with self.peer(listener, crc=True) as peer:
            peer.null()
            peer.fpdu(untagged(SEND, SEND_QUEUE, peer.next_msn(SEND_QUEUE), bytes(20)), spoil=True)
            peer.end()

    def beyond_the_limit(self, listener):
        self.wait_for_the_end()
        allowed = [self.peer(listener) for _ in range(CONNECTIONS)]
        for _ in range(3):
            for peer in allowed:  # the server would end an idle connection to make room
                peer.null()
            counts = self.counts(listener)
            if listener in self.one.tcp:
                with TcpPeer(listener) as peer:
                    self.assertTrue(peer.ended())
            else:
                with Peer(listener) as peer:
                    self.assertTrue(peer.handshake()[0] & REJECT_BIT)
            counts.connection("refused")
        for peer in allowed:
            peer.close()

    def silent(self, listener):
        """A client that ends before it has sent a request, as a port scanner does."""
        TcpPeer(listener).close()
        self.counts(listener).connection("failed")
        wait_until(lambda: any(one["failed"] for one in stats(self.one)["listeners"]), "the end of the silent client")

    def test_sums_of_errors_and_chunks(self):
        end, (first, second), tcp = threading.Event(), self.one.rdma, self.one.tcp
        work = [(self.over_rdma, first), (self.over_rdma, second), (self.one_read_at_a_time, second),
                *((self.over_tcp, listener) for listener in tcp)]
        with concurrent.futures.ThreadPoolExecutor(len(work)) as pool:
            try:
                running = [pool.submit(self.until, end, *one) for one in work]
                self.wait_for_three_scrapes(running)
            finally:
                end.set()
            for one in running:
                one.result()
        self.crc_error(first)
        self.silent(second)
        self.beyond_the_limit(first)
        self.beyond_the_limit(tcp[1])
        self.wait_for_the_last_scrape()
        counted = self.compare(by_hand=True)
        for family in (EXACT | BY_HAND) - {"reply_errors_total"}:
            self.assertTrue(counted.of(family), family)
        self.assertEqual({dict(labels)["reason"] for labels in counted.of("rejected_calls_total")},
                         {dict(labels)["reason"] for labels in self.by_labels("rejected_calls_total")})


class Labels(Case):
    timeout_s = 240
    maxDiff = None

    def hostile_calls(self, server, number, source):
        """Makes calls with hostile names of a file, an export and a machine, on one connection, which stays open."""
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
            self.hostile_calls(server, number, f"127.0.{number // OF_ONE_PREFIX + 1}.{number % OF_ONE_PREFIX + 1}")
        wait_until(lambda: sum_of(scrape(server), "rpcrdma_calls_total") == 3 * count, "a new report")
        after = scrape(server)
        self.assertEqual(sum_of(after, "rpcrdma_connections"), count)
        # The hostile names add only failure counters: one for each of the few statuses that reject them.
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
