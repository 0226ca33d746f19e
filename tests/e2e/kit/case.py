# SPDX-License-Identifier: BSD-3-Clause
"""The base of every end-to-end test."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kit.fabric import ADDRESS, OPTIONS
from kit.server import Server, binary, escaped, trusting
from kit.waiting import DEADLINE_S


class Case(unittest.TestCase):
    """A temporary directory, and servers that are stopped at the end. A server that does not exit with status 0 fails the
    test."""

    timeout_s = 120  # on an ordinary machine; the limit in ctest is SLOWEST times this
    serial = False  # True: no other test runs at the same time

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rpcrdma-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.servers = []
        self.addCleanup(self._end_servers)

    def _end_servers(self):
        for server in self.servers:
            if server.process.returncode is not None:
                continue
            status = server.stop()
            if status != 0 or sys.exc_info()[0] is not None:
                print(f"--- server log\n{server.log()[-4000:]}", file=sys.stderr)
            self.assertEqual(status, 0, "the server's exit status")

    def server(self, exports=None, listen=(f"{ADDRESS}:0",), options=(), name="server", prefix=(), squashes=False):
        """Starts a server. By default it exports self.files as /files, and the memory export /memory. Root is not
        squashed (see trusting()); with `squashes` the program's default applies."""
        if exports is None:
            self.files = self.folder / "files"
            self.files.mkdir(exist_ok=True)
            exports = [f"{escaped(self.files)}:/files", "memory:/memory"]
        exports = exports if squashes else [trusting(spec) for spec in exports]
        server = Server(self.folder / name, exports, listen, options, prefix)
        self.servers.append(server)
        return server

    def run_program(self, name, *arguments, deadline_s=DEADLINE_S, **keywords):
        environment = dict(os.environ, LC_ALL="C.UTF-8")
        return subprocess.run([binary(name), *map(str, arguments)], stdin=subprocess.DEVNULL, env=environment,
                              capture_output=True, timeout=deadline_s, check=False, **keywords)

    def nfs(self, *arguments, **keywords):
        """Runs rpcrdma-nfs, which must succeed and print nothing to stderr. Returns its stdout as bytes."""
        done = self.run_program("rpcrdma-nfs", *OPTIONS, *arguments, **keywords)
        self.assertEqual((done.returncode, done.stderr), (0, b""), f"rpcrdma-nfs {arguments}")
        return done.stdout

    def nfs_fails(self, *arguments, status=1, **keywords):
        """Runs rpcrdma-nfs, which must fail with `status` and one line on stderr. Returns that line."""
        done = self.run_program("rpcrdma-nfs", *OPTIONS, *arguments, **keywords)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, status, f"rpcrdma-nfs {arguments}: {message}")
        self.assertEqual(message.count("\n"), 1, f"one line on stderr: {message!r}")
        self.assertTrue(message.endswith("\n") and message.strip())
        return message.strip()

    def ls(self, url):
        return self.nfs("ls", url).decode().splitlines()
