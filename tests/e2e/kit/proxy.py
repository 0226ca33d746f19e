# SPDX-License-Identifier: BSD-3-Clause
"""An rpcrdma-proxy of a test: started on a free port, and stopped by its process id."""
import re
import signal
import subprocess

from kit.server import binary
from kit.waiting import DEADLINE_S, wait_until


class Proxy:
    """Relays to `target`, with these RULEs. Use as a context manager."""

    def __init__(self, folder, target, *rules, seed=1, options=()):
        self.log_path = folder / "proxy.log"
        command = [binary("rpcrdma-proxy"), "--listen", "127.0.0.1:0", "--to", target, "--seed", str(seed), *options]
        for rule in rules:
            command += ["--fault", rule]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        self.ready = self.process.stdout.readline().rstrip("\n")
        match = re.fullmatch(r"ready listen=(\S+) to=(\S+) seed=(\d+)", self.ready)
        if not match:
            self.process.kill()
            raise AssertionError(f"ready line {self.ready!r}, exit {self.process.wait()}; its log:\n{self.log()}")
        self.address, self.to, self.seed = match.groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Sends SIGTERM; fails unless the program exits with status 0."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                status = self.process.wait(DEADLINE_S)
            finally:
                self.process.kill()
                self.process.stdout.close()
            if status != 0:
                raise AssertionError(f"the proxy's exit status is {status}; its log:\n{self.log()}")

    def url(self, path):
        return f"nfs://{self.address}/{path.lstrip('/')}"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def faults(self):
        """The lines of the log about faults, without the time and the name of the program."""
        return [line.split(" info: ", 1)[1] for line in self.log().splitlines() if " info: fault " in line]

    def counters(self):
        """The proxy's counters, while it runs or after stop()."""
        if self.process.returncode is None:
            before = self.log().count("counters ")
            self.process.send_signal(signal.SIGUSR1)
            wait_until(lambda: self.log().count("counters ") > before and self.log().endswith("\n"), "a counters line")
        line = [text for text in self.log().splitlines() if text.startswith("counters ")][-1]
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
