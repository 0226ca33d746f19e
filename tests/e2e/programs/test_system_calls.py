# SPDX-License-Identifier: BSD-3-Clause
"""The number of system calls that the server makes for a call on a directory export. Leaves out system calls that
wait, as their number depends on the speed of the machine."""
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from kit.case import Case
from kit.fabric import iwarp_only
from kit.namespace import missing_tools
from kit.waiting import wait_until
from kit.wire import nfs
from kit.wire.rpc import ACCESS, GETATTR, LOOKUP, NFS, READ, REMOVE, call, opaque
from kit.wire.tcp import TcpPeer, record

WAITS = "epoll_wait,epoll_pwait,sched_yield,futex,restart_syscall,clock_nanosleep,poll,ppoll"
CALLS = 100
USER = 1234


def file_system(folder):
    done = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def inodes_are_touched():
    """Whether the kernel is older than 6.18. If so, the server may touch inodes (see commit_order.hpp)."""
    return tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 18)


def may_open_by_handle():
    held = int(re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text(encoding="ascii")).group(1), 16)
    return held >> 2 & 1  # CAP_DAC_READ_SEARCH


@unittest.skipIf(missing_tools("strace"), "strace is not installed")
@iwarp_only("the calls are made over TCP")
class SystemCalls(Case):
    def setUp(self):
        super().setUp()
        # The server keeps objects open on these file systems, but not, for example, on the overlay of a container.
        kept = file_system(self.folder) in ("ext2/ext3", "xfs", "btrfs", "tmpfs")
        top = self.folder if kept else Path(tempfile.mkdtemp(dir="/dev/shm"))
        if not kept:
            self.addCleanup(shutil.rmtree, top)
        self.files = top / "files"
        (self.files / "sub").mkdir(parents=True)
        (self.files / "sub" / "file").write_bytes(b"text")
        for folder in (top, self.files, self.files / "sub"):
            os.chmod(folder, 0o777)
        (top / "sync").mkdir()
        os.chmod(top / "sync", 0o777)
        self.one = self.server([f"{self.files}:/files,async", f"{top}/sync:/sync"],
                               options=["--tcp-listen", "127.0.0.1:0", "--poll", "off"])
        self.peer = TcpPeer(self.one.tcp[0])
        self.addCleanup(self.peer.close)
        self.sub = self.peer.lookup(self.peer.mount("/files"), "sub")
        self.file = self.peer.lookup(self.sub, "file")
        # The server remembers the rights on an object once the object has not changed for a while.
        wait_until(lambda: time.time() > os.stat(self.files / "sub" / "file").st_ctime + 2.5, "an object that has not changed for 2.5 s")

    def ask(self, procedure, arguments):
        results = self.peer.results(NFS, 3, procedure, arguments, uid=USER, gid=USER)
        self.assertEqual(struct.unpack_from(">I", results)[0], nfs.OK)

    def counted(self, calls, ask=None, without=WAITS):
        """How often one of `calls` makes each system call, on average. The first three calls are not counted, and no
        system calls in `without`."""
        ask = ask or (lambda one: self.ask(*one))
        warm, measured = calls[:3], calls[3:]
        for one in warm:
            ask(one)
        output = self.folder / "strace"
        command = ["strace", "-f", "-c", "-e", "trace=!" + without, "-o", str(output), "-p", str(self.one.pid)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as strace:
            first = strace.stderr.readline()
            if "attached" not in first:
                strace.kill()
                self.skipTest("NOT CHECKED: tracing is not permitted here: " + first)
            for one in measured:
                ask(one)
            strace.send_signal(signal.SIGINT)
        rows = [line.split() for line in output.read_text().splitlines()]
        table = {row[-1]: int(row[3]) / len(measured) for row in rows if len(row) >= 5 and row[3].isdigit()}
        table.pop("total", None)
        return table

    def assert_at_most(self, bound, calls, closes=0):
        """At most `bound` system calls for each call, and `closes` times close(2) in addition."""
        table = self.counted(calls)
        # The server looks where an object is once in 20 ms, so that their number depends on the speed of the machine.
        self.assertLessEqual(table.pop("readlinkat", 0), 2, table)
        self.assertLessEqual(table.pop("close", 0), closes + 0.1, table)
        self.assertGreaterEqual(table.get("sendmsg", 0), 0.9, f"about one reply each: {table}")
        self.assertLessEqual(sum(table.values()), bound + 0.9, table)
        return table

    def test_reads_of_what_is_in_memory(self):
        access = (ACCESS, opaque(self.file) + struct.pack(">I", 63))
        look_up = (LOOKUP, nfs.place(self.sub, b"file"))
        for bound, one in ((4, (GETATTR, opaque(self.file))), (4, access), (5, look_up)):
            with self.subTest(procedure=one[0]):
                table = self.assert_at_most(bound, [one] * CALLS)
                self.assertLess(table.get("epoll_ctl", 0), 0.1, "no call moves to another thread")

    def test_first_use_of_an_object(self):
        """An object that is not open is opened by its handle, and its attributes and its place are read once."""
        if not may_open_by_handle():
            self.skipTest("NOT CHECKED: without kernel handles the server looks for the place of an object")
        handles = []
        for index in range(CALLS):
            procedure, arguments = nfs.create(self.sub, b"new%d" % index, nfs.EXCLUSIVE)
            results = self.peer.results(NFS, 3, procedure, arguments, uid=USER, gid=USER)
            self.assertEqual(struct.unpack_from(">I", results)[0], nfs.OK)
            handles.append(nfs.handle_of_new(results[4:]))
        table = self.counted([(GETATTR, opaque(handle)) for handle in handles])
        self.assertGreater(table.get("open_by_handle_at", 0), 0.9, table)
        self.assertLess(sum(table.get(name, 0) for name in ("statx", "newfstatat", "fstat")), 1.1, table)
        self.assertLess(table.get("readlinkat", 0), 2.1, table)

    def test_one_wait_for_each_call(self):
        """A server that finds nothing when it looks for work looks less often before it waits."""
        table = self.counted([(GETATTR, opaque(self.file))] * CALLS, without="getppid")
        self.assertLess(table.get("epoll_wait", 0) + table.get("epoll_pwait", 0), 1.6, table)

    def test_two_waits_for_a_change_on_the_disk(self):
        """An event loop that does not poll waits for the call and for the I/O thread, and does not look in between."""
        place = self.peer.mount("/sync")
        names = [b"name%d" % index for index in range(CALLS)]
        calls = [nfs.create(place, name, nfs.GUARDED, nfs.mode_of(0o644)) for name in names]
        table = self.counted(calls, without="getppid")
        self.assertLess(table.get("epoll_wait", 0) + table.get("epoll_pwait", 0), 2.5, table)

    def test_calls_that_arrive_together(self):
        """The replies to calls that arrive together are sent together."""
        together = 20
        batch = b"".join(record(call(xid, NFS, 3, GETATTR, opaque(self.file), uid=USER, gid=USER))
                         for xid in range(together))

        def ask(_):
            self.peer.socket.sendall(batch)
            self.assertEqual([self.peer.reply()[:4] for _ in range(together)],
                             [struct.pack(">I", xid) for xid in range(together)])

        table = self.counted(range(CALLS), ask)
        self.assertLess(table["sendmsg"], together / 2, table)

    def test_long_reads_copy_no_data(self):
        (self.files / "sub" / "file").write_bytes(bytes(1 << 20))
        one = (READ, opaque(self.file) + struct.pack(">QI", 0, 1 << 20))
        table = self.counted([one] * 20)
        self.assertGreaterEqual(table.get("splice", 0), 2, f"from the file, and to the socket: {table}")
        self.assertEqual((table.get("pipe2", 0), table.get("preadv", 0)), (0, 0), "a pipe is used again")

    def test_a_new_file_is_not_opened_again(self):
        """A WRITE uses the descriptor that CREATE has opened, also if a SETATTR by the owner has changed the mode."""
        def made(name, how):
            self.ask(*nfs.create(self.sub, name, how, nfs.mode_of(0o600)))
            return self.peer.lookup(self.sub, name.decode())

        # Few files: the server closes a file that has not been used for 5 s.
        files = [made(b"new%d" % index, nfs.GUARDED if index % 2 else nfs.EXCLUSIVE) for index in range(20)]
        for file in files:
            self.ask(*nfs.setattr_(file, nfs.mode_of(0o440)))
        table = self.counted([nfs.write(file, b"text", stable=0) for file in files])
        self.assertGreaterEqual(table.get("pwritev", 0), 0.9, table)
        self.assertLess(table.get("openat", 0), 0.1, table)

    def test_changes_of_names(self):
        if not may_open_by_handle():
            self.skipTest("NOT CHECKED: without kernel handles the server stores places")
        # To touch an inode, the server resumes its own identity; the next call must take the caller's again.
        more = 8 if inodes_are_touched() else 0
        names = [b"name%d" % index for index in range(CALLS)]
        creates = [nfs.create(self.sub, name, nfs.GUARDED, nfs.mode_of(0o644)) for name in names]
        self.assert_at_most(11 + more, creates, closes=1)
        # A new file is closed when it is removed, or 5 s after its last use, which on a slow machine may be meanwhile.
        self.assert_at_most(10 + more, [nfs.rename(self.sub, name, self.sub, name + b"+") for name in names], closes=1)
        self.assert_at_most(10 + more, [(REMOVE, nfs.place(self.sub, name + b"+")) for name in names], closes=1)
