# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-sim: the same seeds cause the same events; the command line. The ctest tests sim/* run many seeds."""
import os
import re
import signal
import subprocess
from pathlib import Path

from kit.case import Case
from kit.fabric import iwarp_only
from kit.server import binary
from kit.waiting import DEADLINE_S, wait_until


@iwarp_only("the simulation has a fabric of its own")
class Simulation(Case):
    def played(self, *arguments):
        done = self.run_program("rpcrdma-sim", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout[-2000:])
        return done.stdout.decode()

    def hash_of(self, *arguments):
        return re.search(r"trace ([0-9a-f]{16})$", self.played(*arguments).strip()).group(1)

    def test_the_same_seeds_have_the_same_trace(self):
        for mode in ([], ["--liveness"]):
            first = self.played("--seeds", "150", *mode)
            self.assertEqual(self.played("--seeds", "150", *mode), first)
            self.assertNotEqual(self.hash_of("--seed", "2", "--seeds", "150", *mode), self.hash_of("--seeds", "150", *mode))

    def test_a_seed_does_not_depend_on_the_seeds_before(self):
        events = self.played("--seed", "8", "--seeds", "100", "--trace").splitlines()
        alone = self.played("--seed", "107", "--trace").splitlines()
        self.assertGreater(len(alone), 50)
        self.assertEqual(events[-len(alone):-1], alone[:-1])

    def test_the_calls_of_all_servers_are_counted(self):
        played = self.played("--seed", "15", "--trace")
        self.assertGreater(played.count("server starts"), 1)
        self.assertGreaterEqual(int(re.search(r"(\d+) calls;", played).group(1)), played.count("server runs"))

    def test_a_seed_that_crashes(self):
        with open(self.folder / "out", "wb") as out:
            sim = subprocess.Popen([binary("rpcrdma-sim"), "--seeds", "10000000", "--no-shrink", "--trace"], stdout=out)
        children = Path(f"/proc/{sim.pid}/task/{sim.pid}/children")
        wait_until(lambda: (self.folder / "out").stat().st_size > 100000, "some seeds")
        os.kill(int(children.read_text()), signal.SIGKILL)
        self.assertEqual(sim.wait(DEADLINE_S), 1)
        *_, failure, totals = (self.folder / "out").read_text().splitlines()
        seed = re.fullmatch(r"seed (\d+): broken: the program does not crash: signal 9", failure).group(1)
        self.assertTrue(totals.startswith(f"{seed} seeds from 1: 1 failed"), totals)

    def test_a_part_of_a_script(self):
        seed = next(seed for seed in range(1, 100) if self.played("--seed", seed, "--trace").count("fault:") >= 2)
        self.assertNotIn("fault:", self.played("--seed", seed, "--faults", "none", "--trace"))
        first = self.played("--seed", seed, "--faults", "1", "--trace")
        self.assertEqual(first.count("fault:"), 1)
        self.assertNotEqual(self.played("--seed", seed, "--faults", "1", "--operations", "1", "--trace"), first)

    def test_seeds_that_failed(self):
        # With seed 654234, calls that had timed out still held the server's memory. With the other seeds, the server failed
        # to listen.
        for seed in (142634, 178404, 248472, 453262, 654234, 694118, 704536, 824099, 917311):
            with self.subTest(seed=seed):
                self.assertIn(" 0 failed", self.played("--seed", seed))

    def test_mistakes(self):
        for arguments in (["--seeds", "0"], ["--seed", "x"], ["--faults", "1,,2"], ["--log-level", "loud"], ["--unknown"]):
            done = self.run_program("rpcrdma-sim", *arguments)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
