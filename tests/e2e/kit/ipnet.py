# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces that act as hosts, with one rpcrdma-ip for each. Needs root.

On iwarp they are on one bridge, and only the fabric's TCP port is open between them. Over verbs the programs use the
RDMA devices of the initial network namespace, whose addresses are in RPCRDMA_E2E_HOSTS. The TUN device of each
link is moved to a namespace of its own. Only the links connect these namespaces."""
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from kit.fabric import FABRIC
from kit.server import binary
from kit.waiting import DEADLINE_S, wait_until

PORT = 4755
RDMA_ADDRESSES = os.environ.get("RPCRDMA_E2E_HOSTS", "").split()
PROBES = Path(__file__).with_name("ipnet_probes.py")
FIREWALL = f"""
table inet outside {{
  chain input {{
    type filter hook input priority 0; policy accept;
    iifname "eth0" meta l4proto icmpv6 accept
    iifname "eth0" tcp dport {PORT} accept
    iifname "eth0" tcp sport {PORT} accept
    iifname "eth0" drop
  }}
}}
"""


def run(*command, check=True, deadline_s=DEADLINE_S):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=deadline_s, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done


class Namespace:
    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"],
                                       text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.usable = self.holder.stdout.readline() == "up\n"
        self.prefix = ["nsenter", "-t", str(self.holder.pid), "-n", "--"]

    def run(self, *command, **keywords):
        return run(*self.prefix, *command, **keywords)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Host(Namespace):
    """A host has the addresses 10.9.0.NUMBER and fd09::NUMBER on the link, on iwarp also 192.0.2.NUMBER on the
    bridge."""

    def __init__(self, number, bridge, folder):
        super().__init__()
        self.number, self.outside, self.four, self.six = number, f"192.0.2.{number}", f"10.9.0.{number}", f"fd09::{number}"
        self.log_path = folder / f"host-{number}.log"
        self.link = self.iperf = None
        self.started = []
        self.device = "link"  # the name under which rpcrdma-ip creates the device
        if FABRIC == "iwarp":
            self.join(bridge, folder)
        else:
            self.outside, self.device = RDMA_ADDRESSES[number - 1], f"link{number}"
        self.devices_before = self.devices()

    def join(self, bridge, folder):
        port = f"port{self.number}"
        bridge.run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", self.holder.pid)
        bridge.run("ip", "link", "set", port, "master", "bridge", "up")
        self.run("ip", "address", "add", f"{self.outside}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        rules = folder / "firewall"
        rules.write_text(FIREWALL)
        self.run("nft", "-f", rules)

    def start(self, others, *options):
        """Runs rpcrdma-ip with these hosts as its neighbours."""
        peers = [f"--peer={address}={other.outside}:{PORT}" for other in others for address in (other.four, other.six)]
        prefix = self.prefix if FABRIC == "iwarp" else []
        command = [*prefix, binary("rpcrdma-ip"), "--address", f"{self.four}/24", "--address", f"{self.six}/64",
                   "--listen", f"{FABRIC}@{self.outside}:{PORT}", "--name", self.device, *peers, *map(str, options)]
        with open(self.log_path, "ab") as log:
            self.link = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        self.ready = self.link.stdout.readline().rstrip("\n")
        if not self.ready.startswith("ready "):
            raise AssertionError(f"ready line {self.ready!r}, exit {self.link.wait()}; its log:\n{self.log()}")
        if FABRIC != "iwarp":
            self.take_device()

    def take_device(self):
        """Moves the link's device into this namespace, and restores the addresses that the move removes."""
        run("ip", "link", "set", "dev", self.device, "netns", self.holder.pid)
        self.run("ip", "link", "set", "dev", self.device, "name", "link")
        self.run("ip", "address", "add", f"{self.four}/24", "dev", "link")
        self.run("ip", "address", "add", f"{self.six}/64", "dev", "link", "nodad")
        self.run("ip", "link", "set", "dev", "link", "up")

    def stop(self):
        """Sends SIGTERM to rpcrdma-ip; returns its exit status."""
        self.link.send_signal(signal.SIGTERM)
        status = self.link.wait(DEADLINE_S)
        self.link.stdout.close()
        self.link = None
        return status

    def kill(self):
        self.link.kill()
        self.link.wait()
        self.link.stdout.close()
        self.link = None

    def log(self):
        return self.log_path.read_text()

    def counters(self):
        """Sends SIGUSR1; returns the counters that rpcrdma-ip logs in answer."""
        seen = self.log().count("counters ")
        self.link.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.log().count("counters ") > seen and self.log().endswith("\n"), "counters")
        line = [line for line in self.log().splitlines() if line.startswith("counters ")][-1]
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.link.pid}/fd"))

    def devices(self):
        return re.findall(r"^\d+: (\w+)", self.run("ip", "-o", "link").stdout, re.MULTILINE)

    def probe(self, *arguments, **keywords):
        """Runs a command of ipnet_probes.py on this host; returns its output."""
        return self.run(sys.executable, "-B", PROBES, *arguments, **keywords).stdout.strip()

    def start_probe_in_background(self, *arguments):
        process = subprocess.Popen([*self.prefix, sys.executable, "-B", str(PROBES), *map(str, arguments)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def start_probe(self, *arguments):
        """Starts a command of ipnet_probes.py and waits until it is ready; returns the process."""
        process = self.start_probe_in_background(*arguments)
        if process.stdout.readline() != "ready\n":
            raise AssertionError(f"{arguments}: exit {process.wait()}")
        return process

    def start_iperf(self):
        """Starts an iperf3 server for one client, after the previous server has ended."""
        if self.iperf is not None:
            self.iperf.wait(DEADLINE_S)
        process = subprocess.Popen([*self.prefix, "iperf3", "--server", "--one-off", "--forceflush"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        self.iperf = process
        while "listening" not in process.stdout.readline():
            if process.poll() is not None:
                raise AssertionError("iperf3 did not start")

    def close(self):
        if self.link is not None:
            self.kill()
        for process in self.started:
            process.kill()
            process.wait()
            process.stdout.close()
        super().close()


class Network:
    def __init__(self, count, folder):
        self.bridge = Namespace()
        self.hosts = []
        self.usable = self.bridge.usable and Path("/dev/net/tun").exists()
        if FABRIC != "iwarp" and len(RDMA_ADDRESSES) < count:
            self.usable = False
        if not self.usable:
            return
        self.bridge.run("ip", "link", "add", "bridge", "type", "bridge")
        self.bridge.run("ip", "link", "set", "bridge", "up")
        for number in range(1, count + 1):
            self.hosts.append(Host(number, self.bridge, Path(folder)))

    def start(self, *options):
        for host in self.hosts:
            host.start([other for other in self.hosts if other is not host], *options)

    def close(self):
        for host in self.hosts:
            host.close()
        self.bridge.close()
