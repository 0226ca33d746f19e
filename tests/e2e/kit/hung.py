#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A file system that is slow or hangs, on command. Run as a program it is a FUSE file system (the kernel's uapi/linux/fuse.h,
protocol 7.31) of one empty directory. After the line "slow SECONDS" on standard input it delays the answer to each
LOOKUP by this time; after any other line it reads no more requests. When a process that waits for an unread request is
killed, the kernel withdraws the request, so that the process can end."""
import ctypes
import errno
import os
import select
import struct
import subprocess
import sys
import time
from pathlib import Path

GETATTR, STATFS, OPEN, OPENDIR, INIT = 3, 17, 14, 27, 26
WITHOUT_ANSWER = (2, 42)  # FORGET, BATCH_FORGET
ENOENT, ENOSYS, LOOKUP = 2, 38, 1
HOUR_S = 3600


class HungFileSystem:
    """Mounted in a mount namespace of its own, for commands that start with prefix(). Needs root and /dev/fuse."""

    def __init__(self, folder):
        folder.mkdir()
        self.process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", sys.executable, "-B", __file__, str(folder)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.usable = self.process.stdout.readline() == "mounted\n"
        if self.usable:
            root = f"/proc/{self.process.pid}/root"
            number = os.minor(os.stat(f"{root}{folder}").st_dev)
            self.waiting_file = Path(f"{root}/sys/fs/fuse/connections/{number}/waiting")

    def prefix(self):
        return ["nsenter", "-t", str(self.process.pid), "-m", "--"]

    def hang(self):
        self._command("hang", "hangs")

    def slow_down(self, seconds):
        """Delays the answer to each LOOKUP by this time; LOOKUPs are answered one after the other."""
        self._command(f"slow {seconds}", "slow")

    def _command(self, line, answer):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == answer + "\n"

    def waiting(self):
        """The number of requests without an answer."""
        return int(self.waiting_file.read_text())

    def close(self):
        """Ends the file system: processes that hang in it get an error."""
        self.process.kill()
        self.process.communicate()


def mount(folder):
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"hung", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    if libc.mount(b"fusectl", b"/sys/fs/fuse/connections", b"fusectl", 0, None) != 0 and ctypes.get_errno() != errno.EBUSY:
        raise OSError(ctypes.get_errno(), "fusectl")
    return device


def answer(operation):
    """The (errno, body) of the answer to a request."""
    root = struct.pack("<6Q10I", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
    if operation == INIT:
        return 0, struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, *[0] * 8)[:64]
    if operation == GETATTR:
        return 0, struct.pack("<Q2I", HOUR_S, 0, 0) + root
    if operation in (OPEN, OPENDIR):
        return 0, struct.pack("<Q2I", 1, 0, 0)
    if operation == STATFS:
        return 0, struct.pack("<5Q4I", 1, 1, 1, 1, 1, 4096, 255, 4096, 0) + bytes(24)
    return (ENOENT if operation == LOOKUP else ENOSYS), b""


def main():
    device = mount(sys.argv[1])
    wakes = select.poll()
    for descriptor in (device, 0):
        wakes.register(descriptor, select.POLLIN)
    # The kernel sends the first request by itself after mount(). Once that is answered, the file system can be used.
    said = False
    delay_s = 0
    while True:
        ready = dict(wakes.poll())
        if 0 in ready:
            command = sys.stdin.readline().split()
            if command[:1] != ["slow"]:
                break
            delay_s = float(command[1])
            print("slow", flush=True)
        elif device in ready:
            question = os.read(device, 1 << 17)
            _, operation, unique = struct.unpack_from("<2IQ", question)
            if operation not in WITHOUT_ANSWER:
                if operation == LOOKUP:
                    time.sleep(delay_s)
                error, body = answer(operation)
                os.write(device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
            if not said:
                print("mounted", flush=True)
                said = True
    print("hangs", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
