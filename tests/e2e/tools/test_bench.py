# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark program: the format of its output, and that every case runs. Does not judge measured values."""
import json
import os
import unittest
from pathlib import Path
from unittest import mock

from kit.case import Case
from kit.fabric import iwarp_only
from kit.waiting import DEADLINE_S, wait_until

KEYS = ["case", "unit", "ours", "peer", "peer_value", "ratio", "spread"]
COST_KEYS = ["case", "who", "side", "cpu_us", "cpu_s_per_gb", "kernel_calls", "allocations", "copied", "system_calls",
             "sends", "receives", "empty_receives", "waits", "yields", "work_requests", "completions", "batches"]


def processes_with(word):
    """The processes that have `word` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # the process has ended, or belongs to another user
            pass
    return found


@iwarp_only("compares with TCP on the loopback interface; bench/vm measures verbs")
@unittest.skipUnless(Path(os.environ["RPCRDMA_BIN"], "rpcrdma-bench").exists(), "not built")
class Bench(Case):
    timeout_s = 240

    def setUp(self):
        super().setUp()
        self.left_out = {}

    def json_lines(self, *arguments):
        """Runs the program; returns its lines about cases. Sets self.left_out to {name: why} of what it leaves out."""
        done = self.run_program("rpcrdma-bench", "--quick", "--json", *arguments, deadline_s=4 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        machine, *lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual(list(machine), ["wakeup_us", "wakeup_90_us"])
        self.assertGreater(machine["wakeup_us"], 0)
        self.assertGreaterEqual(machine["wakeup_90_us"], machine["wakeup_us"])
        self.left_out = {line["left_out"]: line["why"] for line in lines if "left_out" in line}
        for name, why in self.left_out.items():
            self.assertIn(name, ("raw_tcp_spin", "libnfs", "ganesha", "connections_10000"))
            self.assertTrue(why)
            print(f"{name} is left out: {why}")
        return [line for line in lines if "left_out" not in line]

    def rows(self, *cases):
        rows = self.json_lines(*cases)
        for row in rows:
            self.assertEqual(list(row), KEYS)
            self.assertAlmostEqual(row["ratio"], row["ours"] / row["peer_value"], delta=0.01 * row["ratio"] + 0.0001)
            self.assertGreater(row["ours"], 0)
            self.assertGreaterEqual(row["spread"], 0)
        return rows

    def pairs(self, *cases):
        return [(row["case"], row["unit"], row["peer"]) for row in self.rows(*cases)]

    def present(self, pairs):
        """The pairs whose peer this machine has."""
        return [pair for pair in pairs if pair[-1] not in self.left_out]

    def test_round_trips(self):
        found = self.pairs("null_rtt", "getattr")
        self.assertEqual(found, self.present([("null_rtt", "us", "raw_tcp"), ("null_rtt", "us", "raw_tcp_spin"),
                                              ("null_rtt", "us", "raw_asio"), ("null_rtt", "us", "tirpc_tcp"),
                                              ("getattr", "us", "null_rtt")]))
        self.assertEqual("raw_tcp_spin" in self.left_out, len(os.sched_getaffinity(0)) == 1)

    def test_no_peer_spins_on_the_processor_of_the_other_side(self):
        pairs = self.pairs("--placement", "together", "null_rtt")
        self.assertEqual([peer for _, _, peer in pairs], ["raw_tcp", "raw_asio", "tirpc_tcp"])
        self.assertIn("raw_tcp_spin", self.left_out)

    def test_attributes_and_names(self):
        """Also checks that ganesha and rpcbind, whose environment names the folder, leave no file and no process."""
        with mock.patch.dict(os.environ, TMPDIR=str(self.folder)):
            found = self.pairs("getattr_posix", "lookup_posix", "create_remove_sync", "create_remove_async")
        self.assertEqual(found, self.present([
            ("getattr_posix", "us", "null_rtt"), ("getattr_posix", "us", "local"), ("getattr_posix", "us", "ganesha"),
            ("lookup_posix", "us", "null_rtt"), ("lookup_posix", "us", "local"), ("lookup_posix", "us", "ganesha"),
            ("create_remove_sync", "us", "local_durable"),
            ("create_remove_async", "us", "local"), ("create_remove_async", "us", "ganesha")]))
        self.assertEqual(list(self.folder.iterdir()), [])
        wait_until(lambda: not processes_with(bytes(self.folder)), "the end of ganesha and rpcbind")
        self.assertNotIn("raw_tcp_spin", self.left_out)  # none of its rows was requested
        if os.geteuid() != 0 or not any(Path(folder, "ganesha.nfsd").exists() for folder in ("/usr/bin", "/usr/sbin")):
            self.assertIn("ganesha", self.left_out)

    def test_a_large_directory(self):
        found = self.pairs("readdirplus_10k")
        self.assertEqual(found, self.present([("readdirplus_10k", "1/s", "local"), ("readdirplus_10k", "1/s", "ganesha")]))

    def test_trees(self):
        self.assertEqual(self.pairs("tree_put", "tree_get"),
                         [("tree_put", "1/s", "local_durable"), ("tree_get", "1/s", "local")])

    def test_libnfs(self):
        cases = [("libnfs_getattr", "us"), ("libnfs_mkdir", "us"), ("libnfs_stat_qd32", "1/s"), ("libnfs_chmod", "us"),
                 ("libnfs_rename_qd32", "1/s"), ("libnfs_rmdir", "us"), ("libnfs_read_4k_qd32", "1/s"),
                 ("libnfs_write_1m_qd8", "MB/s")]
        found = self.pairs(*(name for name, _ in cases))
        if "libnfs" in self.left_out:
            self.assertEqual(found, [])
            self.skipTest(f"without libnfs: {self.left_out}")
        changes = ("libnfs_mkdir", "libnfs_chmod", "libnfs_rmdir")
        self.assertEqual(found, self.present([(*case, peer) for case in cases for peer in ("ganesha", "local")
                                              if peer == "ganesha" or case[0] in changes]))

    def test_repeat(self):
        lines = self.json_lines("--repeat", "3", "setup")
        rows, summaries = [line for line in lines if "runs" not in line], [line for line in lines if "runs" in line]
        self.assertEqual([row["peer"] for row in rows], 3 * ["raw_tcp", "tirpc_tcp"])
        self.assertEqual([(one["case"], one["unit"], one["peer"], one["runs"]) for one in summaries],
                         [("setup", "1/s", "raw_tcp", 3), ("setup", "1/s", "tirpc_tcp", 3)])
        for one in summaries:
            for key in ("ours", "peer_value", "ratio"):
                values = sorted(row[key] for row in rows if row["peer"] == one["peer"])
                self.assertEqual(list(one[key].values()), [values[0], values[1], values[2]])

    def test_table_of_several_runs(self):
        done = self.run_program("rpcrdma-bench", "--quick", "--repeat", "2", "setup", deadline_s=2 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        _, title, heading, *lines = done.stdout.decode().splitlines()
        self.assertTrue(title.startswith("2 runs"))
        self.assertEqual(heading.split(), ["case", "unit", "peer", "ours", "ratio"])
        for line in lines:
            name, _, _, *values = line.split()
            least, middle, greatest = map(float, values[:3])
            self.assertEqual((name, len(values)), ("setup", 6))
            self.assertLessEqual(least, middle)
            self.assertLessEqual(middle, greatest)

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
        lines = self.json_lines("--counters", "read_4k_inline_v2", "write_32k_grown_v2")
        costs = [one for one in lines if one.get("side") == "server"]
        requests = {(cost["case"], cost["who"]): cost["work_requests"] for cost in costs}
        for case, by_chunk in (("read_4k_inline_v2", "read_4k_chunk"), ("read_4k_inline_v2", "read_4k_chunk_v2"),
                               ("write_32k_grown_v2", "write_32k_chunk")):
            self.assertLess(requests[case, "ours"], requests[case, by_chunk] - 0.5)

    def test_observed(self):
        """Measures while statistics are requested, and with captures, whose files are removed afterwards."""
        cases = [f"{what}_{depth}" for depth in ("qd1", "qd32") for what in ("scraped", "server_captured", "client_captured")]
        with mock.patch.dict(os.environ, TMPDIR=str(self.folder)):
            self.assertEqual(self.pairs(*cases),
                             [(case, "1/s", case.replace("scraped", "nfs_null_rate").replace("server_captured", "null_rate")
                               .replace("client_captured", "null_rate")) for case in cases])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_receive_memory(self):
        """Receives that have grown take more memory, which is freed when their connections are idle."""
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

    def test_ten_thousand_connections(self):
        cases = ["connections_10000", *(f"connections_10000_{what}" for what in ("memory", "connect", "end"))]
        found = self.pairs(*cases)
        if self.left_out:
            self.assertEqual((found, list(self.left_out)), ([], ["connections_10000"]))
            self.skipTest(self.left_out["connections_10000"])
        self.assertEqual(found, [("connections_10000", "us", "null_rtt"),
                                 ("connections_10000_memory", "KiB", "connections_1000_memory"),
                                 ("connections_10000_connect", "ms", "connections_1000_connect"),
                                 ("connections_10000_end", "ms", "connections_1000_end")])

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
        costs = [one for one in self.json_lines("--counters", "null_rtt") if "side" in one]
        peers = [who for who in ("raw_tcp", "raw_tcp_spin", "raw_asio", "tirpc_tcp") if who not in self.left_out]
        self.assertEqual([(cost["who"], cost["side"]) for cost in costs],
                         [(who, side) for who in ("ours", *peers) for side in ("client", "server")])
        by_side = {(cost["who"], cost["side"]): cost for cost in costs}
        for cost in costs:
            self.assertEqual(list(cost), COST_KEYS)
            self.assertGreater(cost["cpu_us"], 0)
            self.assertIsNone(cost["cpu_s_per_gb"])  # no bulk data
        for side, calls_of_tirpc in (("client", 3), ("server", 4)):
            self.assertAlmostEqual(by_side["tirpc_tcp", side]["system_calls"], calls_of_tirpc, delta=0.05)
            by_kernel = by_side["raw_tcp", side]["kernel_calls"]  # None without root, or without tracing
            if by_kernel is not None:
                self.assertAlmostEqual(by_kernel, 2, delta=0.05)
            # The known costs of one call.
            self.assertAlmostEqual(by_side["raw_tcp", side]["system_calls"], 2, delta=0.05)
            self.assertAlmostEqual(by_side["ours", side]["sends"], 1, delta=0.05)
            self.assertAlmostEqual(by_side["ours", side]["completions"], 2, delta=0.05)
            self.assertAlmostEqual(by_side["ours", side]["work_requests"], 2, delta=0.05)
            # Not zero: the allocations of the run itself are divided among only a few calls.
            self.assertLess(by_side["ours", side]["allocations"], 0.5)

    def test_processor_time_of_bulk_data_and_of_other_programs(self):
        lines = self.json_lines("--counters", "read_4k_qd32", "create_remove_async")
        costs = {(cost["case"], cost["who"], cost["side"]): cost for cost in lines if "side" in cost}
        for side in ("client", "server"):
            cost = costs["read_4k_qd32", "raw_tcp", side]
            self.assertAlmostEqual(cost["cpu_s_per_gb"], cost["cpu_us"] * 1000 / 4096, delta=0.01)
        self.assertNotIn(("create_remove_async", "local", "server"), costs)
        if "ganesha" not in self.left_out:
            ganesha = costs["create_remove_async", "ganesha", "server"]
            self.assertGreater(ganesha["cpu_us"], 0)
            self.assertIsNone(ganesha["system_calls"])

    def test_table(self):
        done = self.run_program("rpcrdma-bench", "--quick", "setup", deadline_s=2 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        machine, heading, *lines = done.stdout.decode().splitlines()
        self.assertRegex(machine, r"^waking a thread on .* processor: [0-9.]+ us, nine of ten within [0-9.]+ us$")
        self.assertEqual(heading.split(), ["case", "unit", "ours", "peer", "peer", "value", "ratio", "spread"])
        self.assertEqual([line.split()[:2] for line in lines], [["setup", "1/s"]] * 2)

    def test_usage_errors(self):
        for arguments in (["no_such_case"], ["--no-such-option"], ["--fabric", "ethernet"],
                          ["--repeat", "0"], ["--repeat", "2", "--counters"], ["--repeat", "2", "--alone", "1"]):
            done = self.run_program("rpcrdma-bench", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
