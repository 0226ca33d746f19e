#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one end-to-end test, or lists them all.

    run.py --list                  prints NAME TIMEOUT_S SERIAL, one line for each test
    run.py FILE/CLASS.METHOD       runs one test; exits with 0 if it passed, 1 if it failed, 77 if it was skipped
    run.py FILE[/CLASS]            runs the tests of a file or a class (by hand)

The programs are taken from RPCRDMA_BIN (default: build/bin of the project)."""
import importlib
import os
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("RPCRDMA_BIN", str(HERE.parent.parent / "build" / "bin"))

from kit.waiting import SLOWEST  # noqa: E402  pylint: disable=wrong-import-position


def cases(file):
    sys.path[1:1] = [str(path.parent) for path in HERE.glob(f"*/test_{file}.py")]
    module = importlib.import_module(f"test_{file}")
    for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
        yield from suite


def name_of(file, case):
    return f"{file}/{type(case).__name__}.{case._testMethodName}"  # pylint: disable=protected-access


class Timed(unittest.TextTestResult):
    """Measures how long each test takes."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.taken, self.start = [], 0

    def startTest(self, test):
        self.start = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.taken.append((time.monotonic() - self.start, test.id()))
        super().stopTest(test)

    def print_slowest(self):
        if len(self.taken) > 10:
            for seconds, name in sorted(self.taken, reverse=True)[:int(os.environ.get("RPCRDMA_E2E_SLOWEST", "5"))]:
                self.stream.writeln(f"{seconds:6.1f} s {name}")


def list_all():
    for path in sorted(HERE.glob("*/test_*.py"), key=lambda path: path.name):
        file = path.stem.removeprefix("test_")
        for case in cases(file):
            print(name_of(file, case), case.timeout_s * SLOWEST, "TRUE" if case.serial else "FALSE")


def main():
    if sys.argv[1:] == ["--list"]:
        list_all()
        return 0
    suite = unittest.TestSuite()
    for wanted in sys.argv[1:]:
        file = wanted.split("/")[0]
        suite.addTests(case for case in cases(file) if wanted in (file, name_of(file, case), name_of(file, case).split(".")[0]))
    if suite.countTestCases() == 0:
        print("no such test", file=sys.stderr)
        return 2
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stderr, resultclass=Timed).run(suite)
    result.print_slowest()
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) >= suite.countTestCases() else 0


if __name__ == "__main__":
    sys.exit(main())
