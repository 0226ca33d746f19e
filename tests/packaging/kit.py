# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "packaging/lib"))
import from_argparse  # noqa: E402  pylint: disable=wrong-import-position

BUILD = Path(os.environ["RPCRDMA_BUILD"])
DEADLINE_S = 120
PROGRAMS = [name for name in ("rpcrdma-nfsd", "rpcrdma-nfs", "rpcrdma-ping", "rpcrdma-bench", "rpcrdma-ip",
                         "rpcrdma-conform", "rpcrdma-proxy", "rpcrdma-sim", "rpcrdma-top")
            if (BUILD / "bin" / name).exists()]


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


def run(*command, **keywords):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, **keywords)


def described(program):
    path = BUILD / "bin" / program
    if path.read_bytes().startswith(b"#!"):
        return from_argparse.describe(path)
    return json.loads(run(path, "--describe").stdout)


def options_of(description):
    """Yields the options of a program and of its commands."""
    yield from description["options"]
    for command in description["commands"]:
        yield from options_of(command)
