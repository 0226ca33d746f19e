# SPDX-License-Identifier: BSD-3-Clause
"""A network namespace and a private /run, with an rpcbind that no process outside reaches. Needs root. RDMA devices are
in the initial network namespace only, so tests of fabrics other than iwarp run in the initial one."""
import os
import shutil
import subprocess

from kit.fabric import FABRIC
from kit.waiting import DEADLINE_S, wait_until


def missing_tools(*names):
    """The programs among `names` that are not installed. Also searches /sbin, which is not in every PATH."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return [name for name in names if shutil.which(name, path=path) is None]


class Namespace:
    """A mount namespace, on iwarp also a network namespace. close() ends it and the processes that popen() started."""

    OWN = ["--net", "--mount"] if FABRIC == "iwarp" else ["--mount"]
    SETUP = "ip link set lo up && mount -t tmpfs none /run && mkdir /run/rpcbind && echo up && exec sleep infinity"

    def __init__(self):
        self.processes = []
        self.holder = subprocess.Popen(["unshare", *self.OWN, "sh", "-c", self.SETUP], text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.usable = self.holder.stdout.readline() == "up\n"

    def prefix(self):
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "--"]

    def popen(self, *command):
        process = subprocess.Popen([*self.prefix(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def run(self, *command):
        return subprocess.run([*self.prefix(), *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

    def start_rpcbind(self):
        process = self.popen("/usr/sbin/rpcbind", "-f")
        wait_until(lambda: self.run("/usr/sbin/rpcinfo", "-p", "127.0.0.1").returncode == 0, "rpcbind")
        return process

    def close(self):
        for process in [*self.processes, self.holder]:
            process.kill()
            process.wait()
        self.holder.stdout.close()
        self.holder.stderr.close()
