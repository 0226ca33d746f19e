# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-ip on hosts between which only the fabric's port is open. tests/interop/guest/links.sh runs it over verbs."""
import json
import os
import re
import resource
import signal
import socket

from kit.case import Case
from kit.fabric import FABRIC, iwarp_only
from kit.ipnet import PORT, Network
from kit.namespace import missing_tools
from kit.waiting import scaled, wait_until
from kit.wire import flows, pcapng

MTU = 65520


def size_of_copy():
    return scaled(1 << 30, 64 << 20, 4 << 20)


class Linked(Case):
    """Hosts that are ready to run rpcrdma-ip."""

    timeout_s = 180
    hosts_wanted = 2

    def setUp(self):
        super().setUp()
        missing = missing_tools("ip", "nsenter", "iperf3", *(["nft"] if FABRIC == "iwarp" else []))
        if os.geteuid() != 0 or missing:
            self.skipTest("needs root" if not missing else f"needs {', '.join(missing)}")
        self.network = Network(self.hosts_wanted, self.folder)
        self.addCleanup(self.network.close)
        if not self.network.usable:
            self.skipTest("needs network namespaces, TUN devices, and over verbs the addresses of RDMA devices")
        self.hosts = self.network.hosts

    def copy(self, source, target, address, count, port=7000, seconds=0):
        receiver = target.start_probe("receive", address, port)
        self.assertEqual(source.probe("send", address, port, count, seconds), str(count))
        self.assertEqual(receiver.wait(), 0)

    def ends_cleanly(self):
        for host in self.hosts:
            counters = host.counters()
            for name in ("bad_frames", "bad_types", "bad_sources", "invalid", "refused_unknown", "refused_malformed"):
                self.assertEqual(counters[name], 0, f"host {host.number}: {name}")
            self.assertEqual(host.stop(), 0)
            self.assertEqual(host.devices(), host.devices_before, "the device is gone")


class Pair(Linked):
    def test_ready_and_privileges(self):
        one, two = self.hosts
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        self.network.start()
        self.assertEqual(one.ready, f"ready dev={one.device} mtu={MTU} port={PORT}")
        status = open(f"/proc/{one.link.pid}/status", encoding="utf-8").read()
        self.assertRegex(status, r"Uid:\t65534\t65534\t65534\t65534\n")
        self.assertRegex(status, r"CapPrm:\t0+\nCapEff:\t0+\n")
        self.assertRegex(status, r"NoNewPrivs:\t1\n")
        limits = open(f"/proc/{one.link.pid}/limits", encoding="utf-8").read()
        self.assertRegex(limits, r"Max open files +(\d+) +\1 ", "the soft limit equals the hard limit")
        shown = one.run("ip", "-o", "address", "show", "dev", "link").stdout
        self.assertIn(f"{one.four}/24", shown)
        self.assertIn(f"{one.six}/64", shown)
        self.assertIn(f"mtu {MTU}", one.run("ip", "link", "show", "dev", "link").stdout)
        if FABRIC == "iwarp":
            two.start_probe("receive", two.outside, 7000)
            self.assertEqual(one.probe("connects", two.outside, 7000), "closed", "only the fabric's port is open")
        self.ends_cleanly()

    def test_every_size(self):
        """Echo requests of sizes up to the MTU (of every size at the full scale), and larger ones in fragments."""
        one, two = self.hosts
        self.network.start()
        step = scaled(1, 397, 4001)
        for address, header in ((two.four, 28), (two.six, 48)):
            top = MTU - header
            most = 65507 if address == two.four else 65527
            self.assertNotEqual(one.probe("echo", address, f"0-40,0-{top}/{step},{top - 2}-{top},{top + 1},{most}" if top < most
                                          else f"0-40,0-{most}/{step},{most}"), "")
        self.ends_cleanly()

    def test_fragments(self):
        """With a small MTU most echo requests are sent in fragments."""
        one, two = self.hosts
        self.network.start("--mtu", 2044)
        for address in (two.four, two.six):
            one.probe("echo", address, f"1990-2060,4000-4100/{scaled(1, 5)},40000,65507")
        self.ends_cleanly()

    def test_streams(self):
        one, two = self.hosts
        self.network.start()
        # Many times what the socket buffers hold; but with tiny inputs, the buffers of 8 streams may hold all of it.
        count = scaled(1 << 30, 64 << 20, 16 << 20)
        arrived = scaled(count // 2, count // 2, 1)
        for address in (two.four, two.six):
            for options in ([], ["--reverse"], ["--parallel", "8"], ["--parallel", "8", "--reverse"]):
                two.start_iperf()
                done = one.run("iperf3", "--client", address, "--bytes", count, "--json", *options, check=False)
                self.assertEqual(done.returncode, 0, f"{options}: {done.stdout}")
                self.assertGreaterEqual(json.loads(done.stdout)["end"]["sum_received"]["bytes"], arrived, options)
        self.ends_cleanly()

    def test_copy(self):
        one, two = self.hosts
        self.network.start()
        self.copy(one, two, two.four, size_of_copy())
        self.copy(two, one, one.six, size_of_copy(), 7001)
        self.ends_cleanly()

    def test_offload(self):
        """One host cuts and joins packets, and the other has no offloads. Neither kernel finds a wrong checksum."""
        one, two = self.hosts
        one.start([two], "--mtu", 2044)
        two.start([one], "--mtu", 2044, "--no-offload")
        count = scaled(256 << 20, 8 << 20, 1 << 20)
        for port, (forth, back) in enumerate(((two.four, one.four), (two.six, one.six)), 7000):
            self.copy(one, two, forth, count, port)
            self.copy(two, one, back, count, port)
        for port, address in enumerate((two.four, two.six), 7100):
            receiver = two.start_probe("take_datagrams", address, port, 1400, 41)
            one.probe("send_datagrams", address, port, 1400, 41)
            self.assertEqual(receiver.wait(), 0)
        self.assertGreater(one.counters()["cut"], 0)
        self.assertGreater(one.counters()["joined"], 0)
        self.assertEqual(two.counters()["cut"] + two.counters()["joined"], 0)
        for host in self.hosts:
            lines = [line.split() for line in host.run("cat", "/proc/net/snmp", "/proc/net/snmp6").stdout.splitlines()]
            wrong = {line[0] + name: value for line, after in zip(lines, lines[1:]) for name, value in zip(line, after)
                     if name == "InCsumErrors" and value != "0"}
            wrong |= {line[0]: line[1] for line in lines if line[0] == "Udp6InCsumErrors" and line[1] != "0"}
            self.assertEqual(wrong, {}, f"host {host.number}")
        self.ends_cleanly()

    def test_capture(self):
        """The capture has the packets of both directions. Its file belongs to the user to which the program changes."""
        one, two = self.hosts
        folder = self.folder / "captures"
        folder.mkdir()
        self.folder.chmod(0o755)
        folder.chmod(0o777)
        path = folder / "link.pcapng"
        one.start([two], "--capture", path)
        two.start([one])
        one.probe("echo", two.four, "100-110")
        self.ends_cleanly()
        self.assertEqual((path.stat().st_uid, path.stat().st_mode & 0o777), (65534, 0o600))
        self.assertEqual(pcapng.statistics(path)[1], 0)
        directions = [flow for connection in flows.of_capture(path, PORT) for flow in connection.flows]
        for source, target in ((one, two), (two, one)):
            pair = socket.inet_aton(source.four) + socket.inet_aton(target.four)
            self.assertTrue(any(pair in message for flow in directions for _, message in flow.sends), source.number)

    def test_capture_that_is_refused(self):
        one, two = self.hosts
        with self.assertRaisesRegex(AssertionError, "--capture: /none/x: No such file or directory"):
            one.start([two], "--capture", "/none/x")

    def test_path_mtu(self):
        """The stack of the side with the larger MTU learns the smaller one, for IPv4 and IPv6."""
        one, two = self.hosts
        one.start([two])
        two.start([one], "--mtu", 2044)
        for address in (two.four, two.six):
            wait_until(lambda: one.run("ping", "-c", "1", "-s", "9000", address, check=False).returncode == 0, "an answer")
            self.assertIn("mtu 2044", one.run("ip", "route", "get", address).stdout)
            refused = one.run("ping", "-c", "1", "-M", "do", "-s", "2044", address, check=False)
            self.assertIn("mtu", refused.stdout + refused.stderr)
        self.assertEqual(one.counters()["too_big"], 2, "the stack has learnt it from the first packet")
        count = scaled(256 << 20, 16 << 20, 1 << 20)
        self.copy(one, two, two.four, count)
        self.copy(two, one, one.six, count, 7001)
        self.ends_cleanly()

    def test_killed_under_load(self):
        """A TCP connection survives when the link below it is killed and started again."""
        one, two = self.hosts
        self.network.start()
        receiver = two.start_probe("receive", two.four, 7000)
        count = scaled(256 << 20, 32 << 20, 8 << 20)
        sender = one.start_probe_in_background("send", two.four, 7000, count, 4)
        for round_ in range(2):
            before = two.counters()["received_bytes"]
            wait_until(lambda: two.counters()["received_bytes"] > before + (1 << 20), "traffic", interval_s=0.05)
            two.kill()
            wait_until(lambda: "link" not in two.devices(), "the removal of the device")
            two.start([one])
            wait_until(lambda: one.log().count("disconnected") > round_, "the end of the connection")  # pylint: disable=cell-var-from-loop
        self.assertEqual(sender.wait(), 0)
        self.assertEqual(receiver.wait(), 0)
        self.ends_cleanly()

    def test_idle(self):
        """Idle connections are closed. The next packets make new connections, and no packet is lost."""
        one, two = self.hosts
        self.network.start("--idle", scaled(0.4, 0.4, 4))
        descriptors = None
        for _ in range(3):
            one.probe("echo", two.four, "0-20")
            wait_until(lambda: one.counters()["connections"] == 0 and two.counters()["connections"] == 0, "idle", interval_s=0.05)
            now = (one.descriptors(), two.descriptors())
            self.assertEqual(now, descriptors or now, "descriptors are left")
            descriptors = now
        self.assertGreaterEqual(one.counters()["idle"] + two.counters()["idle"], 3)
        self.assertEqual(one.counters()["lost"] + two.counters()["lost"], 0)
        self.ends_cleanly()

    def test_crossing(self):
        """Both hosts repeatedly need a connection at the same moment. No packet is dropped while it is made."""
        one, two = self.hosts
        self.network.start("--idle", "0.3")
        rounds = scaled(100, 15, 30)
        probes = [host.start_probe_in_background("echo_at", other.four, 1.2, rounds) for host, other in ((one, two), (two, one))]
        for probe in probes:
            self.assertEqual(probe.wait(), 0)
        counters = one.counters(), two.counters()
        both = {name: counters[0][name] + counters[1][name] for name in counters[0]}
        self.assertEqual(both["rejected"], both["refused_crossing"])
        self.assertGreater(both["connected"], rounds // 2)
        if both["failed"] == 0:  # always, unless the machine is slow
            self.assertEqual(both["unreachable"], 0)
        self.ends_cleanly()

    def test_nothing_leaks(self):
        """After many connections there are as many descriptors and registered bytes as after a few, and the resident
        memory has hardly grown."""
        one, two = self.hosts
        self.network.start()

        def measure(rounds):
            for _ in range(rounds):
                one.probe("echo", two.four, "100,60000")
                self.assertEqual(two.stop(), 0)
                two.start([one])
            wait_until(lambda: one.counters()["connections"] == 0, "the end of the connection", interval_s=0.05)
            counters = one.counters()
            resident = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{one.link.pid}/status", encoding="utf-8").read())[1])
            return one.descriptors(), counters["registered"], resident

        descriptors, registered, resident = measure(3)
        now = measure(scaled(50, 10, 2))
        self.assertEqual(now[:2], (descriptors, registered))
        self.assertLess(now[2], resident + 4096, "KiB")
        self.ends_cleanly()

    def test_unknown_neighbour(self):
        """A host refuses an unknown neighbour, and sends it the reason. With --learn it accepts the neighbour."""
        one, two = self.hosts
        one.start([two])
        two.start([], "--peer", f"10.9.0.77=192.0.2.77:{PORT}")
        self.assertNotEqual(one.run("ping", "-c", "1", two.four, check=False).returncode, 0)
        wait_until(lambda: "it does not know this interface" in one.log(), "the reason")
        self.assertGreater(two.counters()["refused_unknown"], 0)
        two.stop()
        two.start([], "--learn")
        wait_until(lambda: one.run("ping", "-c", "1", two.four, check=False).returncode == 0, "learnt")

    @iwarp_only("uses no fabric")
    def test_command_line(self):  # [4755-4-b]
        good = ["--address", "10.9.0.1/24", "--listen", "127.0.0.1:0", "--peer", "10.9.0.2=127.0.0.1:1"]
        for arguments in ([], good[:2], [*good, "--mtu", "67"], [*good, "--mtu", "65536"], [*good, "--name", "x" * 16],
                          [*good, "--peer", "10.9.0.2"], [*good, "--peer", "10.9.0.300=127.0.0.1:1"],
                          [*good, "--peer", "10.9.0.3=[::1]:1"],
                          [*good, "--address", "10.9.0.1/33"], [*good, "--address", "fd09::1/64", "--mtu", "1279"],
                          [*good[:2], "--listen", "0.0.0.0:1", *good[4:]], good[:4], [*good, "--listen", "x@127.0.0.1:1"]):
            with self.subTest(arguments=arguments):
                done = self.run_program("rpcrdma-ip", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        done = self.hosts[0].run("setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
                                 os.path.join(os.environ["RPCRDMA_BIN"], "rpcrdma-ip"), *good, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("CAP_NET_ADMIN", done.stderr)

    @iwarp_only("uses no fabric")
    def test_without_ipv6(self):
        host = self.hosts[0]
        host.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
        done = host.run(os.path.join(os.environ["RPCRDMA_BIN"], "rpcrdma-ip"), "--address", "fd09::1/64", "--listen",
                        "127.0.0.1:0", "--learn", check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("Cannot assign requested address", done.stderr)
        self.assertNotIn("CAP_NET_ADMIN", done.stderr)


class Three(Linked):
    hosts_wanted = 3

    def test_stopped_neighbour(self):
        """A neighbour whose process is stopped does not hold up the others: packets to it are dropped. Its streams
        continue when it runs again."""
        one, two, three = self.hosts
        self.network.start()
        self.copy(one, three, three.four, 1 << 20, 7001)
        receiver = two.start_probe("receive", two.four, 7000)
        sender = one.start_probe_in_background("send", two.four, 7000, scaled(64 << 20, 16 << 20, 4 << 20), 2)
        wait_until(lambda: two.counters()["received_bytes"] > 1 << 20, "traffic", interval_s=0.05)
        two.link.send_signal(signal.SIGSTOP)
        try:
            before = one.counters()
            one.probe("flood", two.four, 7100, 2000)
            wait_until(lambda: one.counters()["stalled"] > before["stalled"], "packets to be dropped", interval_s=0.05)
            self.copy(one, three, three.four, scaled(64 << 20, 8 << 20, 1 << 20), 7002)
            self.copy(three, one, one.six, scaled(64 << 20, 8 << 20, 1 << 20), 7003)
            self.assertEqual(one.counters()["registered"], before["registered"], "no memory is registered for packets that the neighbour does not take")
            self.assertEqual((sender.poll(), receiver.poll()), (None, None))
        finally:
            two.link.send_signal(signal.SIGCONT)
        self.assertEqual(sender.wait(), 0)
        self.assertEqual(receiver.wait(), 0)
        self.ends_cleanly()


class Five(Linked):
    hosts_wanted = 5

    def test_all_pairs(self):
        """All pairs at once: echo requests, then copies in a ring."""
        self.network.start()
        # Requests are sent again after 10 s: on a slow machine some handshakes exceed their time limit.
        probes = [(host.start_probe_in_background("echo", other.four, "0-20,1000,65507", 10))
                  for host in self.hosts for other in self.hosts if other is not host]
        for probe in probes:
            self.assertEqual(probe.wait(), 0)
        ring = list(zip(self.hosts, self.hosts[1:] + self.hosts[:1]))
        receivers = [target.start_probe("receive", target.six, 7000) for _, target in ring]
        count = scaled(128 << 20, 8 << 20, 1 << 20)
        senders = [source.start_probe_in_background("send", target.six, 7000, count) for source, target in ring]
        for process in (*senders, *receivers):
            self.assertEqual(process.wait(), 0)
        for host in self.hosts:
            counters = host.counters()
            self.assertEqual(counters["connections"], counters["connected"] + counters["accepted"] - counters["ended"])
            self.assertLessEqual(counters["connections"], 8, "two with each neighbour at most")
        self.ends_cleanly()
