# SPDX-License-Identifier: BSD-3-Clause
"""armed.py PID: exits with 0 if a tool is attached to all static probes of this project in the process: then the kernel has
put a breakpoint in the place of each no-operation instruction."""
import os
import re
import subprocess
import sys

BREAKPOINT = 0xCC


def main(process):
    program = os.readlink(f"/proc/{process}/exe")
    notes = subprocess.run(["readelf", "--wide", "--notes", program], capture_output=True, text=True, check=True).stdout
    places = [int(place, 16) for place in re.findall(r"Provider: rpcrdma\s+Name: \w+\s+Location: (\w+)", notes)]
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps:
        start = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        code = [os.pread(memory.fileno(), 1, start + place)[0] for place in places]
    return 0 if code and set(code) == {BREAKPOINT} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
