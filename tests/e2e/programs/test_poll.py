# SPDX-License-Identifier: BSD-3-Clause
"""The option --poll: how the programs wait for work."""
import json
import os
import re
import unittest
from pathlib import Path

from kit.case import Case
from kit.fabric import FABRIC, OPTIONS, iwarp_only
from kit.waiting import DEADLINE_S, wait_until

PROGRAMS = {"rpcrdma-nfsd": ("--export", "memory:/m"), "rpcrdma-nfs": ("ping", "nfs://127.0.0.1:1"),
            "rpcrdma-ping": ("127.0.0.1:1",), "rpcrdma-load": ("nfs://127.0.0.1:1/m/f",), "rpcrdma-bench": ("null_rtt",),
            "rpcrdma-ip": ("--address", "10.9.0.1/24", "--listen", "127.0.0.1:0", "--learn")}


class Poll(Case):
    def test_wrong_values(self):
        for program, arguments in PROGRAMS.items():
            if not Path(os.environ["RPCRDMA_BIN"], program).exists():
                continue
            for value in ("often", "0", "-1", "1000001", "10us"):
                with self.subTest(program=program, value=value):
                    done = self.run_program(program, f"--poll={value}", *arguments)
                    self.assertEqual((done.returncode, done.stdout), (2, b""))
                    self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                    self.assertIn(b"--poll", done.stderr)

    def ping(self, server, value):
        """Runs rpcrdma-ping; returns the numbers that it prints about its own waits."""
        done = self.run_program("rpcrdma-ping", *OPTIONS, "--poll", value, "--rate", "1000", "--count", "100", server.address)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return {name: float(number) for name, number in re.findall(r"(\w+)=([\d.]+)", done.stdout.decode())}

    def test_off(self):
        server = self.server(options=["--poll", "off"])
        own = self.ping(server, "off")
        self.assertEqual((own["polls"], own["polls_found"]), (0, 0))
        self.assertGreater(own["blocks"], 0)
        self.assertGreater(own["rate"], 0)
        counters = server.counters()
        self.assertEqual((counters["polls"], counters["polls_found"]), (0, 0))
        self.assertGreater(counters["blocks"], 0)

    def test_a_time(self):
        server = self.server(options=["--poll", "1000000"])
        # After a thread has lost its processor to another one, it may stop polling for as long as a second.
        wait_until(lambda: self.ping(server, "1000000")["polls"] and server.counters()["polls"], "a poll of each side")

    def test_configuration_file(self):
        config = self.folder / "nfsd.toml"
        config.write_text('poll = "off"\n')
        server = self.server(options=["--config", config])
        self.ping(server, "auto")
        self.assertEqual(server.counters()["polls"], 0)

    @unittest.skipUnless(Path(os.environ["RPCRDMA_BIN"], "rpcrdma-bench").exists(), "not built")
    @iwarp_only("rpcrdma-bench takes the loopback interface")
    def test_of_the_benchmark(self):
        done = self.run_program("rpcrdma-bench", "--quick", "--json", "--counters", "--fabric", FABRIC, "--poll", "off", "null_rtt",
                                deadline_s=2 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        costs = [one for one in map(json.loads, done.stdout.decode().splitlines()) if one.get("who") == "ours"]
        self.assertEqual([cost["yields"] for cost in costs], [0, 0])
