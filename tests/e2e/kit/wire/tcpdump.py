# SPDX-License-Identifier: BSD-3-Clause
"""tcpdump on the loopback interface."""
import os
import signal
import socket
import subprocess

from kit.waiting import wait_until


class Tcpdump:
    """Captures the TCP traffic of one port of 127.0.0.1 to `path` until stop()."""

    def __init__(self, case, path, port):
        self.path, log = path, path.with_suffix(".log")
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.bind(("127.0.0.1", 0))
        case.addCleanup(self.sink.close)
        wanted = f"tcp port {port} or udp dst port {self.sink.getsockname()[1]}"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(["tcpdump", "-i", "lo", "-s", "0", "-B", "65536", "-U", "-w", str(path), wanted],
                                            stderr=output)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        wait_until(lambda: b"listening on" in log.read_bytes() or self.process.poll() is not None, "tcpdump")
        if self.process.poll() is not None:
            case.skipTest("tcpdump may not capture here: " + log.read_text())

    def stop(self):
        """Stops when the file has all packets that were sent before this call."""
        mark = os.urandom(32)
        self.sink.sendto(mark, self.sink.getsockname())
        wait_until(lambda: mark in self._end(), "the last packets")
        os.kill(self.process.pid, signal.SIGINT)
        self.process.wait()

    def _end(self):
        with open(self.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            return file.read()
