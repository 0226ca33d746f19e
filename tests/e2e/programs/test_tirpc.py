# SPDX-License-Identifier: BSD-3-Clause
"""Programs that use rpcrdma/tirpc.h: registration with rpcbind, and the example rpcgen-calc over TCP and RDMA."""
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from kit.case import Case
from kit.fabric import FABRIC
from kit.namespace import Namespace, missing_tools
from kit.waiting import DEADLINE_S

PROGRAM = str(0x20004d33)
# Answers the first call on port 111 with a list that ends after the version of its first entry.
TRUNCATED = f"""
import socket, struct
listener = socket.create_server(("127.0.0.1", 111))
print("ready", flush=True)
peer = listener.accept()[0]
xid = peer.recv(8, socket.MSG_WAITALL)[4:]
peer.sendall(struct.pack(">I4s8I", 1 << 31 | 36, xid, 1, 0, 0, 0, 0, 1, {PROGRAM}, 1))
while peer.recv(4096):
    pass
"""


def program(name):
    return next((str(path) for path in Path(os.environ["RPCRDMA_BIN"]).parent.rglob(name) if os.access(path, os.X_OK)), None)


@unittest.skipUnless(os.geteuid() == 0, "needs a network namespace")
@unittest.skipIf(FABRIC != "iwarp", "programs on the loopback interface use iwarp")
@unittest.skipIf(missing_tools("rpcbind", "rpcinfo", "nsenter", "ip"), "rpcbind is not installed")
@unittest.skipIf(program("calc-server") is None, "the examples are not built")
class Calc(Case):
    def setUp(self):
        super().setUp()
        self.space = Namespace()
        self.addCleanup(self.space.close)
        if not self.space.usable:
            self.skipTest("no namespaces here: " + self.space.holder.stderr.read())

    def server(self, *options):
        process = subprocess.Popen([*self.space.prefix(), program("calc-server"), *options], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.space.processes.append(process)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def ready(self, *options):
        process = self.server(*options)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def client(self, *words):
        return self.space.run(program("calc-client"), *words)

    def check(self, *server):
        done = self.client(*server, "multiply", "6", "7")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "42\n", ""))
        done = self.client(*server, "sort", "100000")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "100000 sorted\n", ""))

    def netids(self):
        done = self.space.run("/usr/sbin/rpcinfo")
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        return sorted(row[2] for row in rows if row[0] == PROGRAM)

    def test_without_rpcbind(self):
        self.ready("--rdma", "127.0.0.1:20070")
        self.check("--rdma", "127.0.0.1:20070")

    def test_rpcbind_names_the_port(self):
        self.space.start_rpcbind()
        self.ready("--rdma")
        self.assertEqual(self.netids(), ["rdma"])
        self.check("--rdma", "127.0.0.1")
        # libtirpc's own clnt_create() leaks here.
        done = self.space.run("env", "ASAN_OPTIONS=detect_leaks=0", program("calc-client"), "127.0.0.1", "multiply", "1", "2")
        self.assertEqual((done.returncode, done.stderr), (1, "127.0.0.1: RPC: Program not registered\n"))

    def test_rpcbind_answers_with_a_truncated_list(self):
        fake = subprocess.Popen([*self.space.prefix(), sys.executable, "-c", TRUNCATED], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True)
        self.space.processes.append(fake)
        self.addCleanup(fake.stdout.close)
        self.assertEqual(fake.stdout.readline(), "ready\n")
        done = self.client("--rdma", "127.0.0.1", "multiply", "1", "2")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", "127.0.0.1: RPC: Port mapper failure - Can't decode result\n"))

    def test_tcp_and_rdma_beside_each_other(self):
        self.space.start_rpcbind()
        self.ready()
        self.ready("--rdma")
        self.assertEqual(self.netids(), ["rdma", "tcp", "tcp6"])
        self.check("127.0.0.1")
        self.check("--rdma", "127.0.0.1")

    def test_ipv6(self):
        self.ready("--rdma", "[::1]:20070")
        self.check("--rdma", "[::1]:20070")

    def test_a_server_that_is_started_again(self):
        self.space.start_rpcbind()
        before = self.ready("--rdma")
        before.kill()
        before.wait()
        self.ready("--rdma")
        self.check("--rdma", "127.0.0.1")

    def test_server_in_its_way_stops(self):
        server = self.ready("--rdma", "127.0.0.1:20070")
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(DEADLINE_S), -signal.SIGTERM)

    def test_errors(self):
        def fails(words, *server):
            done = self.client("--rdma", *server, "multiply", "1", "2")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"{server[0]}: {words}\n"))

        fails("RPC: Unknown host", "no.such.host.invalid")
        fails("RPC: Unknown host", "nonsense@127.0.0.1")
        fails("RPC: Remote system error - Connection refused", "127.0.0.1")
        fails("RPC: Remote system error - Connection refused", "127.0.0.1:20071")
        self.space.start_rpcbind()
        fails("RPC: Program not registered", "127.0.0.1")

    def test_server_without_rpcbind(self):
        server = self.server("--rdma")
        self.assertEqual(server.wait(DEADLINE_S), 1)
        self.assertIn("rpcbind does not answer at /run/rpcbind.sock", server.stderr.read())

    def test_address_in_use(self):
        self.ready("--rdma", "127.0.0.1:20070")
        server = self.server("--rdma", "127.0.0.1:20070")
        self.assertEqual(server.wait(DEADLINE_S), 1)
        self.assertEqual(server.stderr.read(),
                         "rpcrdma_svc_create: cannot listen at 127.0.0.1:20070: Address already in use\n")
