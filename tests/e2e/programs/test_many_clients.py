# SPDX-License-Identifier: BSD-3-Clause
"""Many clients at once, each with its own tree; and many idle connections."""
import resource
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from kit.case import Case
from kit.fabric import iwarp_only
from kit.trees import differences, make_tree
from kit.waiting import DEADLINE_S, scaled, wait_until
from kit.wire.iwarp import mpa_request

REPLY_SIZE = 20  # of an MPA Reply without private data
OF_ONE_PREFIX = 200  # client addresses that differ only in the last byte


class ManyClients(Case):
    serial = True
    timeout_s = 600

    def copy_all(self, server, export, count):
        def one(index):
            local = make_tree(self.folder / f"tree-{index}", scaled(40, 12), seed=index, largest=scaled(400000, 60000))
            self.nfs("put", "-r", local, server.url(export), deadline_s=7 * DEADLINE_S)
            self.nfs("get", "-r", server.url(f"{export}/{local.name}"), self.folder / f"back-{index}", deadline_s=7 * DEADLINE_S)
            return differences(local, self.folder / f"back-{index}")

        with ThreadPoolExecutor(count) as pool:
            found = list(pool.map(one, range(count)))
        self.assertEqual(found, [[]] * count)
        self.assertEqual(server.counters()["accepted"], 2 * count)

    def test_64_clients_on_a_directory(self):
        self.copy_all(self.server(), "/files", scaled(64, 24))

    def test_fewer_descriptors_than_connections(self):
        server = self.server(prefix=("prlimit", "--nofile=400:400"))
        self.assertIn("the limit of open files is 400, but max-connections 1024 may need 2048", server.log())
        self.copy_all(server, "/memory", 4)

    def join(self, server, number):
        """A connection without calls, from an address of its own."""
        host, port = server.address.rsplit(":", 1)
        source = f"127.0.{number // OF_ONE_PREFIX}.{number % OF_ONE_PREFIX + 1}"
        peer = socket.create_connection((host, int(port)), timeout=DEADLINE_S, source_address=(source, 0))
        self.addCleanup(peer.close)
        peer.sendall(mpa_request(flags=0, revision=1))
        self.assertEqual(len(peer.recv(REPLY_SIZE, socket.MSG_WAITALL)), REPLY_SIZE, f"connection {number}")
        return peer

    @iwarp_only("with RDMA devices the test would need one device address for each 256 connections")
    def test_a_crowd_of_idle_connections(self):
        """Prints how long all connections take to begin and to end, and the memory for each."""
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        count = min(scaled(10000, 1500), limits[1] // 2)
        server = self.server(options=["--max-connections", str(count + 1), "--threads", "1"])
        crowd = [self.join(server, 0)]
        before, start = server.resident_kib(), time.monotonic()
        crowd += [self.join(server, number) for number in range(1, count)]
        joined, each = time.monotonic() - start, (server.resident_kib() - before) / count
        self.assertEqual(server.counters()["connections"], count)
        self.nfs("ping", server.url("memory"))
        start = time.monotonic()
        for peer in crowd:
            peer.close()
        wait_until(lambda: server.counters()["connections"] == 0, "the end of all connections")
        print(f"{count} connections in {joined:.2f} s, {each:.1f} KiB each, gone after {time.monotonic() - start:.2f} s")

    def test_64_clients_on_memory(self):
        self.copy_all(self.server(options=["--threads", "2"]), "/memory", scaled(64, 24))
