# SPDX-License-Identifier: BSD-3-Clause
"""Clients that call a server until they are stopped."""
import subprocess
import threading

from kit.fabric import OPTIONS
from kit.server import binary
from kit.trees import noise
from kit.waiting import wait_until

SIZE = 300_000


class Load:
    """A context manager: one rpcrdma-ping with one connection, and one rpcrdma-nfs after another, each of which
    copies a file. After the `with` block, `copies` is the number of copies."""

    def __init__(self, case, server):
        self.case, self.server, self.copies = case, server, 0
        self.stop, self.failure = threading.Event(), None
        self.ping, self.thread = None, threading.Thread(target=self._copy)

    def __enter__(self):
        self.ping = subprocess.Popen([binary("rpcrdma-ping"), *OPTIONS, "--count", "100000000", self.server.address],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.thread.start()
        try:
            wait_until(lambda: self.copies >= 2 or self.failure, "a file there and back")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind, *_):
        self._end()
        if self.failure and kind is None:
            raise self.failure

    @staticmethod
    def connection_of_ping(report):
        """The entry of rpcrdma-ping's connection in a report of the server: it makes more calls than a copy."""
        return max(report["busiest_connections"], key=lambda one: one["calls"])

    def _end(self):
        self.stop.set()
        self.ping.kill()
        self.ping.wait()
        self.thread.join()

    def _copy(self):
        source, back, url = self.case.folder / "load", self.case.folder / "load-back", self.server.url("memory/load")
        source.write_bytes(noise(SIZE, 1))
        try:
            while not self.stop.is_set():
                self.case.nfs("put", source, url)
                self.case.nfs("get", url, back)
                self.copies += 2
        except AssertionError as error:
            self.failure = error
