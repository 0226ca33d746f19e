# SPDX-License-Identifier: BSD-3-Clause
"""One rpcrdma-nfsd of a test: started on a free port, and stopped by its process id."""
import os
import re
import signal
import subprocess
from pathlib import Path

from kit.fabric import ADDRESS, OPTIONS
from kit.waiting import DEADLINE_S, wait_until

BIN = Path(os.environ["RPCRDMA_BIN"])


def binary(name):
    return str(BIN / name)


def escaped(path):
    """A path escaped for --export."""
    return re.sub(r"([\\,:])", r"\\\1", str(path))


def trusting(spec):
    """Adds no_root_squash to the SPEC unless it has a squash option: the tests run as root and compare root's files."""
    return spec if "squash" in spec else spec + ",no_root_squash"


class Server:
    """`exports` is a list of SPECs; `options` are passed to the program. The constructor returns when the server is
    ready."""

    def __init__(self, folder, exports, listen=(f"{ADDRESS}:0",), options=(), prefix=()):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.exports = list(exports)
        self.listen = list(listen)
        self.options = list(options)
        self.prefix = list(prefix)  # a command that executes the command appended to it
        self.log_path = self.folder / "server.log"
        self.process = None
        self.start()

    def arguments(self):
        arguments = [*self.prefix, binary("rpcrdma-nfsd"), *OPTIONS, "--state-dir", str(self.folder / "state")]
        for spec in self.exports:
            arguments += ["--export", spec]
        for address in self.listen:
            arguments += ["--listen", address]
        return arguments + self.options

    def start(self):
        (self.folder / "state").mkdir(exist_ok=True)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.arguments(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=log, text=True)
        self.ready = self.process.stdout.readline().rstrip("\n")
        match = re.fullmatch(r"ready rdma=(\S+) fabric=(\S+) tcp=(\S+)(?: metrics=(\S+))?", self.ready)
        if not match:
            self.process.kill()
            raise AssertionError(f"ready line {self.ready!r}, exit {self.process.wait()}; its log:\n{self.log()}")
        self.rdma, self.fabric, self.tcp = (field.split(",") for field in match.groups()[:3])
        self.metrics = match.group(4)  # None without --metrics

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return self.rdma[0]

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def url(self, path):
        return f"nfs://{self.address}/{path.lstrip('/')}"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        """Sends SIGKILL. The next start() uses the same RDMA ports."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        fabrics = [address.rpartition("@")[0] for address in self.listen]
        self.listen = [f"{fabric}@{address}" if fabric else address for fabric, address in zip(fabrics, self.rdma)]

    def stop(self, deadline_s=DEADLINE_S):
        """Sends SIGTERM and returns the exit status. A sanitizer's report changes the status."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.process.stdout.close()
        return status

    def counters(self):
        """The counters line that SIGUSR1 asks for, as a dictionary."""
        before = self.log().count("counters")
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.log().count("counters") > before and self.log().endswith("\n"), "a counters line")
        line = [text for text in self.log().splitlines() if "counters" in text][-1]
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_kib(self):
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
