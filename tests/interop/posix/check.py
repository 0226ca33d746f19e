#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The behaviour of a file system as programs observe it: one line for each check, with the outcome.

    check.py FOLDER [GROUP]...      as root; FOLDER lies in the file system to look at
    check.py --prepare FOLDER       makes the large directory that a check reads; over a network that would take long

Nothing in the lines depends on the machine or the time, so the output of two file systems that behave alike is the
same: `diff` is the test. The expected outcome is that of a trusted file system."""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
import attributes  # noqa: F401 (each module adds its groups)
import data  # noqa: F401
import listing  # noqa: F401
import names  # noqa: F401
import opening  # noqa: F401
import special  # noqa: F401
import times  # noqa: F401
import users  # noqa: F401
from kit import groups, say


def run(name, function, folder):
    """Runs the group in an empty current folder."""
    place = os.path.join(folder, name)
    start = time.monotonic()
    os.umask(0o022)
    os.mkdir(place, 0o755)
    os.chdir(place)
    try:
        function()
    except OSError as error:
        # A failed preparation is a result as well.
        say("stopped by", error.strerror, error.filename)
    os.chdir(folder)
    os.umask(0o022)
    # An NFS client may keep files here (.nfs...), which it removes by itself.
    shutil.rmtree(place, onerror=lambda _, name,
                  why: None if why[0] is FileNotFoundError else print("left:", name, why[1]))
    print(f"{name}: {time.monotonic() - start:.1f} s", file=sys.stderr)


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        sys.exit(__doc__)
    if sys.argv[1] == "--prepare":
        return listing.prepare(sys.argv[2])
    folder = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:] or groups
    for name in wanted:
        run(name, groups[name], folder)


if __name__ == "__main__":
    main()
