#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The errors that programs get from a file system in trouble; the lines have the format of check.py.

    troubles.py FOLDER full             FOLDER has room for less than 40 MiB
    troubles.py FOLDER quota            user 1000 may have 2 MiB and 20 files in FOLDER
    troubles.py FOLDER failing COMMAND  `COMMAND fail` makes FOLDER's disk fail, `COMMAND mend` repairs it"""
import os
import subprocess
import sys

from kit import ANNA, BERT, as_user, get, group, groups, opened, outcome, put, say, tried, try_open

MIB = bytes(1 << 20)


def filled(name, mebibytes):
    """Writes `mebibytes` MiB to a file, and flushes and closes it; any of these steps may fail."""
    with opened(name, os.O_WRONLY | os.O_CREAT) as file:
        for _ in range(mebibytes):
            os.write(file, MIB)
        os.fsync(file)
    return f"all of {mebibytes} MiB"


def made(folder, count):
    """How many of `count` files can be created, and the error for the next file."""
    for number in range(count):
        done = outcome(try_open, f"{folder}/{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        if done != "ok":
            return f"{number} and {done}"
    return f"{count}"


@group
def full():
    put("early", b"content")
    tried("too much", filled, "large", 60)
    with opened("more", os.O_WRONLY | os.O_CREAT) as more:
        tried("written past the cache of the system", written_synchronously, more)
    say("what was there before", get("early"))
    say("some of it is there", os.stat("large").st_size > 10 << 20)
    tried("cut", os.truncate, "large", 1 << 20)
    tried("then there is room", filled, "again", 5)
    tried("and names are made", made, ".", 10)


def written_synchronously(file):
    os.write(file, MIB)
    os.fsync(file)


@group
def quota():
    os.chmod(".", 0o777)
    for name, user in (("anna", ANNA), ("bert", BERT)):
        as_user(user, os.mkdir, name)
    say("the user writes", as_user(ANNA, filled, "anna/large", 8))
    say("another", as_user(BERT, filled, "bert/large", 8))
    say("less than the limit is there", os.stat("anna/large").st_blocks * 512 <= 2 << 20)
    as_user(ANNA, os.truncate, "anna/large", 0)
    say("after a cut", as_user(ANNA, filled, "anna/large", 1))
    say("files of the user", as_user(ANNA, made, "anna", 30))
    say("of another", as_user(BERT, made, "bert", 30))
    say("a folder of the user", as_user(ANNA, os.mkdir, "anna/folder"))
    say("root", outcome(filled, "root", 8))
    tried("root gives the user too much", os.chown, "root", *ANNA[:2])
    say("owner", os.stat("root").st_uid)


@group
def failing():
    for name in ("early", "other"):
        put(name, MIB)
    with opened("early", os.O_RDWR) as file, opened("other") as other:
        os.fsync(file)
        os.fsync(other)
        subprocess.run([sys.argv[3], "fail"], check=True)
        tried("read", os.pread, other, 4096, 500000)
        os.pwrite(file, b"lost" * 1024, 0)  # a whole page, which need not be read first
        tried("brought to the disk", os.fsync, file)
        subprocess.run([sys.argv[3], "mend"], check=True)
        say("read again", len(os.pread(other, 4096, 500000)))
        os.pwrite(file, b"kept" * 1024, 0)
        tried("written again", os.fsync, file)
    say("it is there", get("early")[:4])


def main():
    os.umask(0o022)
    os.chdir(sys.argv[1])
    groups[sys.argv[2]]()


if __name__ == "__main__":
    main()
