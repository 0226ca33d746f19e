#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one interop suite in the virtual machine, or lists them.

    run.py --list      NAME TIMEOUT_S LABEL FIXTURE, one line for each suite
    run.py NAME        exit 0 passed, 1 failed

The programs are taken from the build folder RPCRDMA_BUILD (default: build of the project)."""
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
os.environ.setdefault("RPCRDMA_BUILD", str(TOP / "build"))
os.environ.setdefault("RPCRDMA_BIN", os.environ["RPCRDMA_BUILD"] + "/bin")


def suites():
    import suites as module  # pylint: disable=import-outside-toplevel
    return {case.name: case for case in vars(module).values() if isinstance(case, type) and hasattr(case, "name")}


def main():
    if sys.argv[1:] == ["--list"]:
        for name, case in suites().items():
            print(name, case.timeout_s, case.label, case.needs)
        return 0
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(suites()[name]) for name in sys.argv[1:])
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stderr).run(suite)
    # A skipped suite counts as a failure.
    return 0 if result.wasSuccessful() and result.testsRun > 0 and not result.skipped else 1


if __name__ == "__main__":
    sys.exit(main())
