#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py NAME runs test_NAME.py: exit 0 passed, 1 failed, 77 if all of its tests are skipped. RPCRDMA_BUILD names the
build folder (default: build of the project)."""
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
