#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""names.py FOLDER COUNT [PID]: times operations on names and attributes in FOLDER, COUNT of each kind, one after the
other, and then programs that work on a tree of 5 * COUNT files. Prints one line for each kind: its name, the
milliseconds per operation and, of these, the processor time of the process PID in user space. Before a cold kind, the
kernel's cached names and inodes are dropped. Needs root."""
import os
import subprocess
import sys
import tempfile
import time


def write(path, octets):
    with open(path, "wb") as file:
        file.write(octets)


def read(path):
    with open(path, "rb") as file:
        file.read()


def forget():
    os.sync()
    write("/proc/sys/vm/drop_caches", b"2")


def kinds(folder):
    """For each kind: its name, whether it is cold, and the operation, which takes the number of a file."""
    def at(letter):
        return lambda number: f"{folder}/{letter}{number}"

    file, link, moved, symlink, directory = at("f"), at("l"), at("s/m"), at("y"), at("d")
    return (
        ("create", False, lambda n: os.close(os.open(file(n), os.O_CREAT | os.O_EXCL | os.O_WRONLY))),
        ("write 3,000 bytes", False, lambda n: write(file(n), bytes(3000))),
        ("stat, cold", True, lambda n: os.stat(file(n))),
        ("read, cold", True, lambda n: read(file(n))),
        ("open and read again", False, lambda n: read(file(n))),
        ("look up a missing name", False, lambda n: os.path.exists(f"{folder}/none{n}")),
        ("chmod", False, lambda n: os.chmod(file(n), 0o600)),
        ("utime", False, lambda n: os.utime(file(n), (1, 1))),
        ("link", False, lambda n: os.link(file(n), link(n))),
        ("rename", False, lambda n: os.rename(link(n), moved(n))),
        ("symlink", False, lambda n: os.symlink("x", symlink(n))),
        ("unlink", False, lambda n: os.unlink(moved(n))),
        ("mkdir", False, lambda n: os.mkdir(directory(n))),
        ("rmdir", False, lambda n: os.rmdir(directory(n))),
    )


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def programs(folder, local, files):
    """Like kinds(), but each operation is done once. `local` is a folder for an archive and a repository with as many
    files as `files` says."""
    git = ("git", "-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "safe.directory=*", "-C", f"{local}/tree")
    for number in range(files):
        os.makedirs(f"{local}/tree/d{number % 10}", exist_ok=True)
        write(f"{local}/tree/d{number % 10}/f{number}", os.urandom(1500) * 2)
    run("tar", "-C", local, "-cf", f"{local}/tree.tar", "tree")
    run(*git, "init")
    run(*git, "add", ".")
    run(*git, "commit", "-m", "tree")
    return (
        ("untar", False, lambda: run("tar", "-C", folder, "-xf", f"{local}/tree.tar")),
        ("ls -lR, cold", True, lambda: run("ls", "-lR", f"{folder}/tree")),
        ("ls -lR", False, lambda: run("ls", "-lR", f"{folder}/tree")),
        ("tar, cold", True, lambda: run("tar", "-C", folder, "-cf", "/dev/zero", "tree")),
        ("git clone", False, lambda: run("git", "clone", "--no-local", f"{local}/tree", f"{folder}/clone")),
        ("rm -r", False, lambda: run("rm", "-r", f"{folder}/tree")),
    )


def user_time(process):
    """The processor time that `process` has spent in user space, in seconds."""
    if process is None:
        return 0
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")


def main():
    folder, count, process = sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
    os.makedirs(f"{folder}/s")
    for name, cold, operation in kinds(folder):
        if cold:
            forget()
        start, user = time.monotonic(), user_time(process)
        for number in range(count):
            operation(number)
        took, user = time.monotonic() - start, user_time(process) - user
        print(f"{name};{took / count * 1000:.3f};{user / count * 1000:.3f}", flush=True)
    with tempfile.TemporaryDirectory(dir="/run") as local:
        for name, cold, program in programs(folder, local, 5 * count):
            if cold:
                forget()
            start, user = time.monotonic(), user_time(process)
            program()
            took, user = time.monotonic() - start, user_time(process) - user
            print(f"{name};{took * 1000:.3f};{user * 1000:.3f}", flush=True)


main()
