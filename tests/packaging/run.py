#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py NAME: runs test_NAME.py. Exit status: 0 if the tests pass, 1 if one fails, 77 if all are skipped. RPCRDMA_BUILD
names the build folder; the default is `build` in the source tree."""
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("RPCRDMA_BUILD", str(HERE.parent.parent / "build"))

suite = unittest.defaultTestLoader.loadTestsFromName(f"test_{sys.argv[1]}")
result = unittest.TextTestRunner(verbosity=2).run(suite)
if not result.wasSuccessful():
    sys.exit(1)
sys.exit(77 if len(result.skipped) == result.testsRun else 0)
