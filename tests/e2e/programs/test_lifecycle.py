# SPDX-License-Identifier: BSD-3-Clause
"""Start, ready line, listeners, usage errors, characteristics, missing devices and libraries, drain, orderly ends."""
import os
import re
import signal
import socket
import subprocess

from kit.case import Case
from kit.fabric import ADDRESS, ADDRESS6, FABRIC, OPTIONS, iwarp_only
from kit.server import binary
from kit.trees import write_noise
from kit.waiting import DEADLINE_S, scaled, wait_until
from kit.wire.relay import Relay
from kit.wire.rpc import RpcPeer


class Lifecycle(Case):
    def test_ready_line(self):
        server = self.server()
        self.assertRegex(server.ready, rf"^ready rdma={re.escape(ADDRESS)}:[1-9]\d* fabric={FABRIC} tcp=off$")
        self.assertEqual(server.stop(), 0)

    def test_several_listeners(self):
        server = self.server(listen=(f"{ADDRESS}:0", f"{FABRIC}@{ADDRESS}:0"))
        self.assertEqual(len(set(server.rdma)), 2)
        self.assertEqual(server.fabric, [FABRIC, FABRIC])
        for address in server.rdma:
            self.nfs("ls", f"nfs://{address}/files")

    def test_ipv6(self):
        server = self.server(listen=(f"[{ADDRESS6}]:0",))
        self.assertRegex(server.address, rf"^\[{ADDRESS6}\]:\d+$")
        (self.folder / "local").write_bytes(b"six")
        self.nfs("put", self.folder / "local", server.url("/memory/file"))
        self.assertEqual(self.nfs("cat", server.url("/memory/file")), b"six")

    def test_port_taken(self):
        server = self.server()
        done = self.run_program("rpcrdma-nfsd", "--fabric", FABRIC, "--listen", server.address, "--export", "memory:/m")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(done.stderr.strip())

    def test_usage_errors(self):
        for arguments in (["--listen", "nonsense"], ["--no-such-option"], ["--export"], [],
                          ["--export", "memory:/m", "--threads", "0"], ["--export", "memory:/m", "--crc", "perhaps"],
                          ["--export", "memory:/m", "--listen", "127.0.0.1:99999"]):
            with self.subTest(arguments=arguments):
                done = self.run_program("rpcrdma-nfsd", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(done.stderr.strip())
        for arguments in ([], ["frobnicate"], ["ls"], ["ls", "http://x/y"], ["--timeout", "soon", "ls", "nfs://h/e"]):
            with self.subTest(arguments=arguments):
                done = self.run_program("rpcrdma-nfs", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(done.stderr.strip())

    def test_help(self):
        for program in ("rpcrdma-nfsd", "rpcrdma-nfs", "rpcrdma-ping"):
            done = self.run_program(program, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"--fabric", done.stdout)

    def test_ping(self):
        server = self.server()
        done = self.run_program("rpcrdma-ping", *OPTIONS, "--count", "50", server.address)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode().splitlines()[-1], r"^min=[\d.]+ median=[\d.]+ p99=[\d.]+ us$")

    def characteristics(self, client, of_server):
        """The characteristics as rpcrdma-ping prints them: the line of the version, and the rows of the table."""
        server = self.server(options=["--rdma-version", of_server], name=f"{client}-{of_server}")
        done = self.run_program("rpcrdma-ping", "--fabric", FABRIC, "--rdma-version", client, "--characteristics",
                                "--count", "5", server.address)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        _, version, *table, last = done.stdout.decode().splitlines()
        self.assertRegex(last, "^min=")
        return version, [line.split("  ") for line in table]

    def test_characteristics(self):
        version, table = self.characteristics("auto", "auto")
        self.assertEqual(version, "version 2, both sides have announced their characteristics")
        rows = {cells[0].strip(): [cell.strip() for cell in cells[1:] if cell.strip()] for cells in table}
        self.assertEqual(rows[""], ["client", "server"])
        self.assertGreaterEqual(min(map(int, rows["receive buffer size"])), 4096)
        self.assertIn("requester remote invalidation", rows)
        self.assertIn("backward request support", rows)
        for versions in (("1", "auto"), ("auto", "1")):
            self.assertEqual(self.characteristics(*versions), ("version 1, no characteristics are exchanged", []))

    def test_server_absent(self):
        with socket.create_server((ADDRESS, 0)) as taken:
            port = taken.getsockname()[1]
        message = self.nfs_fails("--timeout", "2", "ls", f"nfs://{ADDRESS}:{port}/files", deadline_s=DEADLINE_S)
        self.assertIn(str(port), message)
        done = self.run_program("rpcrdma-ping", "--fabric", FABRIC, "--timeout", "2", f"{ADDRESS}:{port}", deadline_s=DEADLINE_S)
        self.assertEqual(done.returncode, 1)

    def test_no_device(self):
        """Without an RDMA device at an address, one line names the missing part."""
        for program in (("rpcrdma-ping", "127.0.0.1:1"), ("rpcrdma-nfs", "ls", "nfs://127.0.0.1:1/x"),
                        ("rpcrdma-nfsd", "--export", "memory:/x", "--listen", "127.0.0.1:0")):
            done = self.run_program(program[0], "--fabric", "verbs", *program[1:])
            self.assertEqual((done.returncode, done.stdout), (1, b""), program)
            self.assertRegex(done.stderr.decode(), r"^rpcrdma-\w+: .*(no RDMA|rdma-core).*\n$")
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    @iwarp_only("the server is a TCP listener that never answers")
    def test_server_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            self.nfs_fails("--timeout", "2", "ls", f"nfs://127.0.0.1:{mute.getsockname()[1]}/files", deadline_s=DEADLINE_S)

    def test_no_tcp_unless_asked(self):
        server = self.server()
        self.assertEqual(server.tcp, ["off"])

    def test_end_with_idle_connections(self):
        server = self.server()
        with RpcPeer(server.address) as peer:
            peer.null()
            self.assertEqual(server.stop(), 0)

    def test_counters_line(self):
        server = self.server()
        with RpcPeer(server.address) as peer:
            peer.null()
            counters = server.counters()
            self.assertEqual(counters["connections"], 1)
            self.assertGreaterEqual(counters["calls"], 1)
        wait_until(lambda: server.counters()["connections"] == 0, "the connection's end")


class WithoutRdmaCore(Case):
    """The libraries of rdma-core are loaded when they are first needed, and are not required otherwise."""

    def test_no_program_is_linked_with_them(self):
        for program in ("rpcrdma-nfsd", "rpcrdma-nfs", "rpcrdma-ping"):
            needed = subprocess.run(["readelf", "-d", binary(program)], capture_output=True, text=True, check=True).stdout
            self.assertIn("libc.so", needed)
            self.assertNotRegex(needed, "libibverbs|librdmacm")

    def test_all_but_verbs_works(self):
        for library in ("libibverbs.so.1", "librdmacm.so.1"):
            with self.subTest(library=library):
                self.without(library)

    def without(self, library):
        # The loader finds an empty file and stops searching.
        hidden = self.folder / library
        hidden.mkdir()
        (hidden / library).touch()
        hide = ["env", f"LD_LIBRARY_PATH={hidden}"]
        run = lambda *command: subprocess.run([*hide, binary(command[0]), *command[1:]], stdin=subprocess.DEVNULL,
                                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        refused = run("rpcrdma-ping", "--fabric", "verbs", f"{ADDRESS}:1")
        if "verbs fabric is missing" in refused.stderr:
            self.skipTest(refused.stderr)
        for done in (refused, run("rpcrdma-nfs", "--fabric", "verbs", "ls", f"nfs://{ADDRESS}:1/x"),
                     run("rpcrdma-nfsd", "--export", "memory:/x", "--listen", f"verbs@{ADDRESS}:0")):
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"^rpcrdma-\w+: .*{re.escape(library)}.*\n$")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        server = self.server(exports=["memory:/memory"], listen=(f"auto@{ADDRESS}:0", "iwarp@127.0.0.1:0"),
                             name=f"without-{library}", prefix=hide)
        self.assertEqual(server.fabric, ["iwarp", "iwarp"])
        local = write_noise(self.folder / "local", 300000)
        for address, fabric in zip(server.rdma, ("auto", "iwarp")):
            url = f"nfs://{address}/memory/{fabric}"
            done = run("rpcrdma-nfs", "--fabric", fabric, "put", str(local), url)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = run("rpcrdma-nfs", "--fabric", fabric, "get", url, str(self.folder / f"{library}-{fabric}"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.folder / f"{library}-{fabric}").read_bytes(), local.read_bytes())


class Drain(Case):
    serial = True
    timeout_s = 200

    def test_drain_in_mid_transfer(self):
        """SIGTERM while a client writes: the server exits with status 0 within its deadline, and the client fails."""
        server = self.server()
        source = write_noise(self.folder / "big", scaled(512, 64) << 20)
        client = subprocess.Popen([binary("rpcrdma-nfs"), *OPTIONS, "--timeout", "3", "put", str(source), server.url("/files/big")],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        target = self.files / "big"
        wait_until(lambda: target.exists() and target.stat().st_size > 1 << 20, "a part of the file")
        os.kill(server.pid, signal.SIGTERM)
        self.assertEqual(server.process.wait(DEADLINE_S), 0)
        server.process.stdout.close()
        self.assertEqual(client.wait(DEADLINE_S), 1)
        self.assertEqual(client.stderr.read().decode().count("\n"), 1)
        client.stderr.close()


@iwarp_only("inspects how TCP connections end")
class OrderlyEnds(Case):
    def test_clients_do_not_reset_their_connections(self):
        """[5044-7.2-a] A program that is done closes its connection in an orderly way."""
        server = self.server()
        local = self.folder / "local"
        write_noise(local, 3000000)
        with Relay(server.address, self.folder / "capture.pcap") as relay:
            ping = self.run_program("rpcrdma-ping", "--fabric", FABRIC, "--count", "5", relay.address)
            self.assertEqual(ping.returncode, 0, ping.stderr)
            self.nfs("put", local, f"nfs://{relay.address}/memory/file")
            self.nfs("get", f"nfs://{relay.address}/memory/file", self.folder / "back")
            self.nfs("ls", f"nfs://{relay.address}/memory")
        self.assertEqual(relay.resets, [])
