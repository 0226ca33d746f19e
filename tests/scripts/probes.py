#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""probes.py with|without PROGRAM...: compares the static probes of each program, and those that the bpftrace script uses,
with docs/probes.md. `without` expects programs without probes. Needs readelf of binutils."""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


def documented():
    """Returns the documented probes: name -> number of arguments."""
    text = (TOP / "docs/probes.md").read_text(encoding="utf-8")
    return {name: 2 + len(more.split(";")) for name, _, more in ROW.findall(text)}


def built(program):
    """Returns the probes in the program, as pairs of a name and a number of arguments."""
    notes = subprocess.run(["readelf", "--wide", "--notes", program], capture_output=True, text=True, check=True,
                           env={**os.environ, "LC_ALL": "C"}).stdout
    found = re.findall(r"Provider: rpcrdma\s+Name: (\w+)\s+Location:.*\s+Arguments: (.*)", notes)
    return {(name, len(arguments.split())) for name, arguments in found}


def main(expected, *programs):
    page = documented()
    wrong = []
    if not page:
        wrong.append("docs/probes.md: no table of probes")
    for program in programs:
        there = built(program)
        wanted = set(page.items()) if expected == "with" else set()
        wrong += [f"{program}: no probe {name} with {count} arguments" for name, count in sorted(wanted - there)]
        wrong += [f"{program}: probe {name} with {count} arguments is not in docs/probes.md" for name, count in sorted(there - wanted)]
    script = (TOP / "tools/bpftrace/rpcrdma-calls.bt").read_text(encoding="utf-8")
    used = set(re.findall(r"^usdt:\*:rpcrdma:(\w+)", script, re.MULTILINE))
    wrong += [f"rpcrdma-calls.bt does not use {name}" for name in sorted(set(page) - used)]
    wrong += [f"rpcrdma-calls.bt uses {name}, which is not in docs/probes.md" for name in sorted(used - set(page))]
    print("\n".join(wrong) or f"{len(page)} probes in each of {len(programs)} programs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
