# SPDX-License-Identifier: BSD-3-Clause
"""A file system that does not answer, under one of the exports."""
import os
import signal
import subprocess
import unittest

from kit.case import Case
from kit.fabric import FABRIC, iwarp_only
from kit.hung import HungFileSystem
from kit.namespace import missing_tools
from kit.server import binary
from kit.waiting import DEADLINE_S, wait_until
from kit.wire import nfs
from kit.wire.rpc import LOOKUP, NFS, call
from kit.wire.tcp import TcpPeer, record


@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/fuse"), "needs root and FUSE")
@unittest.skipIf(missing_tools("unshare", "nsenter"), "util-linux is not installed")
@iwarp_only("calls hang in the file system whatever the fabric is")
class Hung(Case):
    def setUp(self):
        super().setUp()
        self.hung = HungFileSystem(self.folder / "hung")
        self.addCleanup(self.hung.close)
        if not self.hung.usable:
            self.skipTest("no FUSE here: " + self.hung.process.stderr.read())
        self.files = self.folder / "files"
        self.files.mkdir()
        (self.files / "file").write_bytes(b"fine")
        self.one = self.server([f"{self.folder / 'hung'}:/hung", f"{self.files}:/files"],
                               options=["--tcp-listen", "127.0.0.1:0"], prefix=self.hung.prefix())
        self.peers = []
        self.addCleanup(lambda: [peer.close() for peer in self.peers])

    def test_exports_that_cannot_be_read_again(self):
        config = self.folder / "config"
        config.write_text("[[export]]\nmemory = true\nname = '/m'\n")
        self.assertEqual(self.one.stop(), 0)
        self.one = self.server([], options=["--config", str(config)], name="again", prefix=self.hung.prefix())
        self.hung.hang()
        config.write_text(f"[[export]]\ndirectory = '{self.folder / 'hung'}'\nname = '/hung'\n")
        self.one.process.send_signal(signal.SIGHUP)
        self.one.counters()
        self.assertEqual(self.ls(self.one.url("/m")), [])
        self.end()
        self.assert_ended("opening or closing a file system still blocks")

    def peer(self):
        self.peers.append(TcpPeer(self.one.tcp[0]))
        return self.peers[-1]

    def hang(self, calls):
        """Sends this many calls, which hang in the file system."""
        root = self.peer().mount("/hung")
        self.hung.hang()
        before = self.one.counters()["calls"]
        for index in range(calls):
            self.peer().socket.sendall(record(call(index, NFS, 3, LOOKUP, nfs.place(root, b"name%d" % index))))
        wait_until(lambda: self.one.counters()["calls"] >= before + calls, "the calls' arrival")

    def end(self):
        self.one.process.send_signal(signal.SIGTERM)

    def assert_ended(self, why):
        self.assertEqual(self.one.process.wait(DEADLINE_S), 1)
        self.one.process.stdout.close()
        self.assertIn(why, self.one.log())

    def test_other_exports_are_served(self):
        """Many more calls hang than there are processors."""
        reader = self.peer()
        root = reader.mount("/files")
        self.hang(40)
        reader.lookup(root, "file")
        self.hung.close()
        self.assertEqual(self.one.stop(), 0)

    def test_the_end_is_bounded(self):
        self.hang(3)
        self.end()
        self.assert_ended("3 file system calls still running")

    def test_the_end_is_bounded_over_rdma(self):
        self.hang(0)
        client = subprocess.Popen([binary("rpcrdma-nfs"), "--fabric", FABRIC, "--timeout", "100", "stat", self.one.url("/hung/x")],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        wait_until(lambda: self.hung.waiting() > 0, "what hangs")
        self.end()
        self.assert_ended("1 file system calls still running")

    def test_told_twice(self):
        self.hang(1)
        self.end()
        wait_until(lambda: "shutting down" in self.one.log(), "the first signal's effect")
        self.end()
        self.assert_ended("second signal")

    def test_told_again_when_connections_are_cut(self):
        self.hang(1)
        self.end()
        self.assertTrue(self.peers[-1].ended())
        self.end()
        self.assert_ended("shutting down")
