# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark program: the format of its output, and that every case runs. Does not judge measured values."""
import json
import os
import unittest
from pathlib import Path

from kit.case import Case
from kit.fabric import iwarp_only
from kit.waiting import DEADLINE_S

KEYS = ["case", "unit", "ours", "peer", "peer_value", "ratio", "spread"]


@iwarp_only("compares with TCP on the loopback interface; bench/vm measures verbs")
@unittest.skipUnless(Path(os.environ["RPCRDMA_BIN"], "rpcrdma-bench").exists(), "not built")
class Bench(Case):
    timeout_s = 240

    def rows(self, *cases):
        done = self.run_program("rpcrdma-bench", "--quick", "--json", *cases, deadline_s=4 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
        for row in rows:
            self.assertEqual(list(row), KEYS)
            self.assertAlmostEqual(row["ratio"], row["ours"] / row["peer_value"], delta=0.01 * row["ratio"] + 0.0001)
            self.assertGreater(row["ours"], 0)
            self.assertGreaterEqual(row["spread"], 0)
        return rows

    def pairs(self, *cases):
        return [(row["case"], row["unit"], row["peer"]) for row in self.rows(*cases)]

    def test_round_trips(self):
        self.assertEqual(self.pairs("null_rtt", "getattr"),
                         [("null_rtt", "us", "raw_tcp"), ("null_rtt", "us", "raw_asio"), ("null_rtt", "us", "tirpc_tcp"),
                          ("getattr", "us", "null_rtt")])

    def test_bulk_data(self):
        cases = ["read_1m_qd1", "write_1m_qd8", "read_1m_qd8_crc"]
        self.assertEqual(self.pairs(*cases),
                         [("read_1m_qd1", "MB/s", "raw_tcp"), ("read_1m_qd1", "MB/s", "tirpc_tcp"),
                          ("write_1m_qd8", "MB/s", "raw_tcp"), ("write_1m_qd8", "MB/s", "tirpc_tcp"),
                          ("read_1m_qd8_crc", "MB/s", "read_1m_qd8")])

    def test_both_kinds_of_export(self):
        for operation in ("read", "write"):
            name = f"nfs_{operation}_1m_qd8"
            self.assertEqual(self.pairs(name, f"{name}_posix"),
                             [(name, "MB/s", f"{operation}_1m_qd8"), (f"{name}_posix", "MB/s", f"{operation}_1m_qd8")])

    def test_version_two(self):
        cases = ["null_rtt_v2", "read_64k_inline_v2", "write_32k_grown_v2", "setup_v2", "setup_fallback"]
        self.assertEqual(self.pairs(*cases),
                         [("null_rtt_v2", "us", "null_rtt"), ("read_64k_inline_v2", "us", "read_64k_chunk"),
                          ("read_64k_inline_v2", "us", "read_64k_chunk_v2"),
                          ("write_32k_grown_v2", "us", "write_32k_chunk"), ("setup_v2", "1/s", "setup"),
                          ("setup_fallback", "1/s", "setup")])

    def test_inline_data_takes_no_windows(self):
        done = self.run_program("rpcrdma-bench", "--quick", "--json", "--counters", "read_4k_inline_v2", "write_32k_grown_v2",
                                deadline_s=2 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        costs = [one for one in map(json.loads, done.stdout.decode().splitlines()) if one.get("side") == "server"]
        requests = {(cost["case"], cost["who"]): cost["work_requests"] for cost in costs}
        for case, by_chunk in (("read_4k_inline_v2", "read_4k_chunk"), ("read_4k_inline_v2", "read_4k_chunk_v2"),
                               ("write_32k_grown_v2", "write_32k_chunk")):
            self.assertLess(requests[case, "ours"], requests[case, by_chunk] - 0.5)

    def test_receive_memory(self):
        """Receives that have grown take more memory, and give it back when their connections are idle."""
        done = self.run_program("rpcrdma-bench", "--receive-memory", "3", deadline_s=4 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.decode().splitlines()]
        kib = {row[0]: float(row[1]) for row in cells[2:]}
        self.assertGreater(kib["version one, Receives of 64 KiB"], 10 * kib["version one"])
        self.assertGreater(kib["version two, one of a hundred has grown"], 2 * kib["version two"])
        self.assertGreater(kib["version two, all have grown"], 5 * kib["version two"])
        self.assertLess(kib["version two, idle again"], 1.1 * kib["version two"])

    def test_a_thousand_idle_connections(self):
        self.assertEqual(self.pairs("null_rtt_1000_connections", "idle_connection"),
                         [("null_rtt_1000_connections", "us", "null_rtt"), ("idle_connection", "KiB", "posted_receives")])

    def test_an_idle_connection_takes_little_memory(self):
        (row,) = self.rows("idle_connection")
        self.assertLess(row["ours"], 64)

    def test_placements(self):
        for placement in ("together", "apart", "free"):
            (row,) = self.rows("--placement", placement, "null_rtt_1000_connections")
            self.assertEqual(row["peer"], "null_rtt")
        done = self.run_program("rpcrdma-bench", "--placement", "elsewhere")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"--placement", done.stderr)

    def test_counters(self):
        done = self.run_program("rpcrdma-bench", "--quick", "--json", "--counters", "null_rtt", deadline_s=2 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        costs = [one for one in map(json.loads, done.stdout.decode().splitlines()) if "side" in one]
        self.assertEqual([(cost["who"], cost["side"]) for cost in costs],
                         [(who, side) for who in ("ours", "raw_tcp", "raw_asio", "tirpc_tcp")
                          for side in ("client", "server")])
        by_side = {(cost["who"], cost["side"]): cost for cost in costs}
        for side in ("client", "server"):
            # The known costs of these programs.
            self.assertAlmostEqual(by_side["raw_tcp", side]["system_calls"], 2, delta=0.05)
            self.assertAlmostEqual(by_side["ours", side]["sends"], 1, delta=0.05)
            self.assertAlmostEqual(by_side["ours", side]["completions"], 2, delta=0.05)
            self.assertAlmostEqual(by_side["ours", side]["work_requests"], 2, delta=0.05)
            # Not zero: the allocations of the run itself are divided among only a few calls.
            self.assertLess(by_side["ours", side]["allocations"], 0.5)

    def test_table(self):
        done = self.run_program("rpcrdma-bench", "--quick", "setup", deadline_s=2 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        heading, *lines = done.stdout.decode().splitlines()
        self.assertEqual(heading.split(), ["case", "unit", "ours", "peer", "peer", "value", "ratio", "spread"])
        self.assertEqual([line.split()[:2] for line in lines], [["setup", "1/s"]] * 2)

    def test_usage_errors(self):
        for arguments in (["no_such_case"], ["--no-such-option"], ["--fabric", "ethernet"]):
            done = self.run_program("rpcrdma-bench", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
