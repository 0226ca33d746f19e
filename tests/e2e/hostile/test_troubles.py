# SPDX-License-Identifier: BSD-3-Clause
"""File systems that are full, read-only, failing or exported in part: callers get the right status, and the server
keeps running. Some tests read the disk as it is after a crash of the machine."""
import contextlib
import errno
import os
import struct
import subprocess
import threading
import time

from kit.case import Case
from kit.namespace import missing_tools
from kit.trees import noise, write_noise
from kit.waiting import DEADLINE_S
from kit.wire import nfs
from kit.wire.nfs import all_procedures, ask, handle_of_new
from kit.wire.rpc import ACCESS, COMMIT, GETATTR, REMOVE, RMDIR, SETATTR, WRITE, opaque
from kit.wire.tcp import TcpPeer

IO, FBIG, NOSPC, ROFS, STALE = 5, 27, 28, 30, 70
FILE_SYNC, UNSTABLE = 2, 0


def usable(script):
    """Whether the script succeeds in a new mount namespace on this machine."""
    return subprocess.run(["unshare", "--mount", "sh", "-ec", script], capture_output=True, check=False,
                          timeout=DEADLINE_S).returncode == 0


class Troubles(Case):
    timeout_s = 200

    def server_on(self, script, options=""):
        """A server in its own mount namespace, in which SCRIPT has made the file system at $1."""
        self.files = self.folder / "files"
        self.files.mkdir()
        if os.geteuid() != 0 or not usable(f"set -- {self.files}; {script}"):
            self.skipTest("needs root, and the right to mount")
        prefix = ["unshare", "--mount", "sh", "-ec", f'{script}; shift; exec "$@"', "sh", str(self.files)]
        server = self.server([f"{self.files}:/files{options}"], options=["--tcp-listen", "127.0.0.1:0"], prefix=prefix)
        self.inside = f"/proc/{server.pid}/root{self.files}"
        self.peer = TcpPeer(server.tcp[0])
        self.addCleanup(self.peer.close)
        self.root = self.peer.mount("/files")
        return server

    def made(self, name):
        status, rest = ask(self.peer, *nfs.create(self.root, name))
        self.assertEqual(status, nfs.OK)
        return handle_of_new(rest)

    def local(self, octets):
        path = self.folder / "local"
        path.write_bytes(noise(octets))
        return path

    def fails_with(self, code, *arguments):
        message = self.nfs_fails(*arguments)
        self.assertTrue(message.endswith(": " + os.strerror(code)), message)

    def crashed(self, image, how, look):
        """Runs the shell command LOOK in a copy of the file system, and returns its output. The copy has only
        the data that has reached the disk, as after a crash of the machine. HOW are the options of the mount."""
        copy = self.folder / "copy"
        subprocess.run(["cp", "--sparse=always", image, copy], check=True, timeout=DEADLINE_S)
        after = self.folder / "after"
        after.mkdir(exist_ok=True)
        script = f'mount -o {how} "{copy}" "{after}"; cd "{after}"; {look}'
        done = subprocess.run(["unshare", "--mount", "sh", "-ec", script], capture_output=True, check=True, timeout=DEADLINE_S)
        return done.stdout.decode().strip()

    def test_what_cannot_be_opened_is_on_the_disk_when_it_is_reported(self):
        # XFS mounts two copies of one file system only with nouuid.
        for make, how in (("mkfs.ext4 -q -F", "loop"), ("mkfs.ext4 -q -F -O ^has_journal,^metadata_csum", "loop"),
                          ("mkfs.xfs -q -f", "loop,nouuid")):
            with self.subTest(make), self.served_image(make) as image:
                self.on_the_disk(image, how)

    def test_new_names_name_something_when_they_are_reported(self):
        for make in ("mkfs.ext4 -q -F", "mkfs.ext4 -q -F -O ^has_journal,^metadata_csum"):
            with self.subTest(make), self.served_image(make) as image:
                # A block holds several inodes: make so many that new inodes are not in the block of the root.
                for number in range(40):
                    open(f"{self.inside}/early{number}", "x", encoding="ascii").close()
                os.sync()
                early = self.peer.lookup(self.root, "early0")
                for call, look, expected in (
                        (nfs.create(self.root, b"file", attributes=nfs.mode_of(0o640)), "stat -c %a file", "640"),
                        (nfs.link(early, self.root, b"linked"), "stat -c %h linked", "2"),
                        (nfs.mkdir(self.root, b"folder"), "ls -A folder; stat -c %h folder", "2"),
                        (nfs.mknod(self.root, b"fifo"), "stat -c %F fifo", "fifo"),
                        (nfs.symlink(self.root, b"symlink", b"target"), "readlink symlink", "target")):
                    self.assertEqual(ask(self.peer, *call)[0], nfs.OK)
                    self.assertEqual(self.crashed(image, "loop", look), expected)

    @contextlib.contextmanager
    def served_image(self, make):
        image = self.folder / "image"
        if missing_tools(make.split()[0]):
            self.skipTest("no " + make)
        self.server_on(f'truncate -s 320M "{image}"; {make} "{image}"; mount -o loop "{image}" "$1"')
        yield image
        self.peer.socket.close()
        self.assertEqual(self.servers.pop().stop(), 0)
        image.unlink()
        self.files.rmdir()

    def test_a_part_of_a_file_system(self):
        """Exports a bind mount, as in a container. Each start of the server mounts it again, with empty caches."""
        if missing_tools("mkfs.ext4"):
            self.skipTest("no mkfs.ext4")
        image, whole = self.folder / "image", self.folder / "whole"
        whole.mkdir()
        subprocess.run(["sh", "-ec", f'truncate -s 32M "{image}"; mkfs.ext4 -q -F "{image}"'], check=True, timeout=DEADLINE_S)
        server = self.server_on(f'mount -o loop "{image}" "{whole}"; mkdir -p "{whole}/part" "{whole}/outside"; '
                                f'mount --bind "{whole}/part" "$1"')
        status, rest = ask(self.peer, *nfs.mkdir(self.root, b"folder"))
        self.assertEqual(status, nfs.OK)
        folder = handle_of_new(rest)
        files = {name: self.made(name) for name in (b"stays", b"moved", b"leaves", b"left")}
        self.assertEqual(ask(self.peer, *nfs.rename(self.root, b"moved", folder, b"moved"))[0], nfs.OK)

        def moved_out(name):
            above = f"/proc/{server.pid}/root{whole}"
            os.rename(f"{above}/part/{name}", f"{above}/outside/{name}")
            time.sleep(0.1)  # the server may use what it has found for 20 ms

        def statuses():
            return {name: ask(self.peer, GETATTR, opaque(handle))[0] for name, handle in files.items()}

        moved_out("left")
        expected = {b"stays": nfs.OK, b"moved": nfs.OK, b"leaves": nfs.OK, b"left": STALE}
        self.assertEqual(statuses(), expected)
        for _ in range(2):
            self.peer.close()
            self.assertEqual(server.stop(), 0)
            server.start()
            self.peer = TcpPeer(server.tcp[0])
            self.addCleanup(self.peer.close)
            self.assertEqual(statuses(), expected)
            self.assertEqual(ask(self.peer, *nfs.read(files[b"left"]))[0], STALE)
            if expected[b"leaves"] == nfs.OK:
                moved_out("leaves")
                expected[b"leaves"] = STALE
                self.assertEqual(statuses(), expected)

    def on_the_disk(self, image, how):
        links = []
        for number in range(4):
            status, rest = ask(self.peer, *nfs.symlink(self.root, b"link%d" % number, b"target"))
            self.assertEqual(status, nfs.OK)
            links.append(handle_of_new(rest))
        file = self.made(b"file")
        for number, link in enumerate(links):
            # Leaves unstable data, which the kernel may write back during the SETATTR.
            self.assertEqual(ask(self.peer, *nfs.write(file, noise(65536), number << 16, UNSTABLE))[0], nfs.OK)
            when = 1_000_000_000 + number
            changed = bytes(20) + struct.pack(">III", 2, when, 0)
            self.assertEqual(ask(self.peer, *nfs.setattr_(link, changed))[0], nfs.OK)
            self.assertEqual(self.crashed(image, how, f"stat -c %Y link{number}"), str(when))

    def server_on_a_refusing_disk(self, names, more=""):
        """Files of 512 blocks on a disk that cannot store them: their blocks are holes in an image on a full file system.
        Other blocks can be written."""
        if missing_tools("filefrag", "fallocate"):
            self.skipTest("needs filefrag and fallocate")
        return self.server_on(
            'back="$1/../back"; mkdir -p "$back"; mount -t tmpfs -o size=64m none "$back"; '
            'truncate -s 32M "$back/disk"; mkfs.ext4 -q -F -b 4096 -O ^has_journal,^metadata_csum "$back/disk"; '
            f'mount -o loop "$back/disk" "$1"; chmod 777 "$1"; {more}'
            f'for name in {" ".join(names)}; do head -c 2M /dev/zero | tr "\\0" o >"$1/$name"; done; sync -f "$1"; '
            f'for name in {" ".join(names)}; do filefrag -v "$1/$name" | tr -d :. | '
            'while read -r number _ _ from to count _; do case "$number$from$to$count" in *[!0-9]*|"") continue;; esac; '
            'fallocate -p -o $((from * 4096)) -l $(((to - from + 1) * 4096)) "$back/disk"; done; done; '
            'mount -o remount,size=$(($(df --output=used -k "$back" | tail -n 1)))k "$back"')

    def all_at_once(self, count, times, ask_one):
        """Calls ask_one(peer, number, time) repeatedly from COUNT connections at once; returns all results."""
        found, barrier = [], threading.Barrier(count, timeout=2 * DEADLINE_S)

        def work(number):
            with TcpPeer(self.servers[-1].tcp[0]) as peer:
                for time in range(times):
                    barrier.wait()
                    found.append(ask_one(peer, number, time))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), count * times)
        return found

    def test_every_call_learns_that_its_data_is_lost(self):
        """Many calls run at once, and the kernel reports the error to only one fsync of an open file."""
        self.server_on_a_refusing_disk(["file"])
        file = self.peer.lookup(self.root, "file")

        def write_stable(peer, number, time):
            return ask(peer, *nfs.write(file, b"x" * 4096, (number + 8 * time) % 512 * 4096, FILE_SYNC))[0]

        self.assertLessEqual(set(self.all_at_once(8, 40, write_stable)), {IO, NOSPC})
        verifiers = []

        def commit(peer, number, time):
            if number == 0:
                status, rest = ask(peer, *nfs.write(file, b"y" * 4096, time * 4096, UNSTABLE))
                self.assertEqual(status, nfs.OK)
                verifiers.append(rest[-8:])
            ready.wait()
            status, rest = ask(peer, COMMIT, opaque(file) + bytes(12))
            return (time, rest[-8:]) if status == nfs.OK else None

        ready = threading.Barrier(4, timeout=2 * DEADLINE_S)
        for committed in self.all_at_once(4, 40, commit):
            if committed:
                self.assertNotEqual(committed[1], verifiers[committed[0]])

    def test_data_lost_after_its_file_was_closed(self):
        """The server has used many other files and therefore closed the written one. Another process has already called
        fsync and received the error."""
        self.server_on_a_refusing_disk(["file"], 'for n in $(seq 600); do : >"$1/$n"; done; ')
        file = self.peer.lookup(self.root, "file")
        status, rest = ask(self.peer, *nfs.write(file, b"x" * 4096, 0, UNSTABLE))
        self.assertEqual(status, nfs.OK)
        verifier = rest[-8:]
        for number in range(1, 601):
            self.assertEqual(ask(self.peer, *nfs.read(self.peer.lookup(self.root, str(number))))[0], nfs.OK)
        # fsync succeeds if the server has written the data back by itself and received the error.
        with open(f"{self.inside}/file", "rb") as local, contextlib.suppress(OSError):
            os.fsync(local.fileno())
        status, rest = ask(self.peer, COMMIT, opaque(file) + bytes(12))
        if status == nfs.OK:
            self.assertNotEqual(rest[-8:], verifier)

    def test_no_room(self):
        server = self.server_on('mount -t tmpfs -o size=1m none "$1"')
        first = self.made(b"first")
        self.assertEqual(ask(self.peer, *nfs.write(first, b"content"))[0], nfs.OK)
        self.fails_with(errno.ENOSPC, "put", self.local(3 << 20), server.url("/files/large"))
        large = self.peer.lookup(self.root, "large")
        for stable in (UNSTABLE, FILE_SYNC):
            self.assertEqual(ask(self.peer, *nfs.write(large, bytes(1 << 16), 4 << 20, stable))[0], NOSPC)
        # Operations that need no space still work: reading, truncating, removing.
        self.assertEqual(ask(self.peer, *nfs.read(first))[0], nfs.OK)
        self.assertEqual(self.nfs("cat", server.url("/files/first")), b"content")
        self.nfs("truncate", "10", server.url("/files/large"))
        self.nfs("rm", server.url("/files/large"))
        self.nfs("put", self.local(500000), server.url("/files/again"))
        with open(f"{self.inside}/again", "rb") as file:
            self.assertEqual(file.read(), noise(500000))

    def test_no_room_for_a_copy_that_may_be_resumed(self):
        server = self.server_on('mount -t tmpfs -o size=72m none "$1"')
        source = write_noise(self.folder / "large", 80 << 20, 1)
        target = f"{self.inside}/large"
        for room, mode, remark in (("8m", 0o664, ""), ("72m", 0o1444, "--resume")):
            with self.subTest(room):
                with open(target, "wb"):
                    os.chmod(target, 0o664)
                subprocess.run(["nsenter", "-t", str(server.pid), "-m", "mount", "-o", f"remount,size={room}",
                                self.files], check=True, timeout=DEADLINE_S)
                message = self.nfs_fails("put", "--resume", source, server.url("/files/large"))
                self.assertIn(f": {os.strerror(errno.ENOSPC)}", message)
                self.assertIn(remark, message)
                self.assertEqual("incomplete" in message, bool(remark))
                self.assertEqual(os.stat(target).st_mode & 0o7777, mode)

    def test_no_room_for_names(self):
        self.server_on('mount -t tmpfs -o nr_inodes=8 none "$1"')
        status = nfs.OK
        for number in range(20):
            status, _ = ask(self.peer, *nfs.create(self.root, b"file%d" % number))
            if status != nfs.OK:
                break
        self.assertEqual(status, NOSPC)
        for call in (nfs.mkdir(self.root, b"d"), nfs.symlink(self.root, b"s", b"x" * 200), nfs.mknod(self.root, b"p"),
                     nfs.create(self.root, b"g", nfs.GUARDED), nfs.create(self.root, b"e", nfs.EXCLUSIVE)):
            self.assertEqual(ask(self.peer, *call)[0], NOSPC, call)
        self.assertEqual(len(os.listdir(self.inside)), number)
        self.assertEqual(ask(self.peer, REMOVE, nfs.place(self.root, b"file0"))[0], nfs.OK)
        self.assertEqual(ask(self.peer, *nfs.mkdir(self.root, b"d"))[0], nfs.OK)

    def test_files_larger_than_the_server_may_make(self):
        """RLIMIT_FSIZE: beyond it the kernel sends a signal that ends a process by default."""
        if missing_tools("prlimit"):
            self.skipTest("no prlimit")
        server = self.server(options=["--tcp-listen", "127.0.0.1:0"], prefix=["prlimit", "--fsize=1048576"])
        self.peer = TcpPeer(server.tcp[0])
        self.addCleanup(self.peer.close)
        self.root = self.peer.mount("/files")
        file = self.made(b"file")
        self.assertEqual(ask(self.peer, *nfs.write(file, b"content"))[0], nfs.OK)
        for stable in (UNSTABLE, FILE_SYNC):
            self.assertEqual(ask(self.peer, *nfs.write(file, b"content", 2 << 20, stable))[0], FBIG)
        self.assertEqual(ask(self.peer, *nfs.setattr_(file, nfs.size_of(2 << 20)))[0], FBIG)
        self.fails_with(errno.EFBIG, "put", self.local(2 << 20), server.url("/files/large"))
        self.assertEqual(self.nfs("cat", server.url("/files/file")), b"content")

    def test_a_disk_that_may_not_be_written(self):
        """The export is writable, but its file system is not."""
        server = self.server_on('mount --bind "$1" "$1"; mkdir -p "$1/folder"; echo content >"$1/file"; '
                                'chmod 777 "$1" "$1/folder"; chmod 666 "$1/file"; mount -o remount,ro,bind "$1"')
        file, folder = self.peer.lookup(self.root, "file"), self.peer.lookup(self.root, "folder")
        for procedure, arguments in all_procedures(file, self.root):
            if procedure in (SETATTR, WRITE):
                self.assertEqual(ask(self.peer, procedure, arguments)[0], ROFS, procedure)
        for call in (nfs.create(folder, b"n"), nfs.create(folder, b"n", nfs.GUARDED),
                     nfs.create(folder, b"n", nfs.EXCLUSIVE), nfs.mkdir(folder, b"n"), nfs.symlink(folder, b"n", b"t"),
                     nfs.mknod(folder, b"n"), (REMOVE, nfs.place(self.root, b"file")),
                     (RMDIR, nfs.place(self.root, b"folder")),
                     nfs.rename(self.root, b"file", folder, b"n"), nfs.link(file, folder, b"n"),
                     nfs.setattr_(folder, struct.pack(">II", 1, 0o700) + bytes(20))):
            self.assertEqual(ask(self.peer, *call)[0], ROFS, call)
        status, rest = ask(self.peer, ACCESS, opaque(file) + struct.pack(">I", 63))
        self.assertEqual((status, struct.unpack(">I", rest[-4:])[0] & 0x1C), (nfs.OK, 0), "ACCESS grants no change")
        self.assertEqual(self.nfs("cat", server.url("/files/file")), b"content\n")
        self.fails_with(errno.EROFS, "mkdir", server.url("/files/new"))

    def test_a_disk_that_fails(self):
        """A file system in an image on a full file system: data is lost when the kernel writes it back, and
        COMMIT must report the loss. Older kernels report it as EIO instead of ENOSPC."""
        server = self.server_on(
            'mkdir -p "$1/back"; mount -t tmpfs -o size=3m none "$1/back"; truncate -s 32m "$1/back/disk"; '
            'mkfs.ext4 -q -F -O ^has_journal,^metadata_csum "$1/back/disk"; mount -o loop "$1/back/disk" "$1"')
        file = self.made(b"file")
        wanted, offset = bytes(range(256)) * 256, 0
        statuses, verifiers = set(), set()
        while offset < 16 << 20 and statuses <= {nfs.OK}:
            status, rest = ask(self.peer, *nfs.write(file, wanted, offset, UNSTABLE))
            statuses.add(status)
            if status == nfs.OK:
                verifiers.add(rest[-8:])
            offset += len(wanted)
        self.assertLessEqual(statuses, {nfs.OK, IO, NOSPC})
        status, _ = ask(self.peer, COMMIT, opaque(file) + bytes(12))
        self.assertIn(status, (IO, NOSPC))
        # The client must send lost data again: the verifier has changed since the writes.
        status, rest = ask(self.peer, COMMIT, opaque(file) + bytes(12))
        if status == nfs.OK:
            self.assertNotIn(rest[-8:], verifiers)
        self.assertEqual(ask(self.peer, *nfs.read(file))[0], nfs.OK)
        message = self.nfs_fails("put", self.local(16 << 20), server.url("/files/other"))
        self.assertTrue(message.endswith((os.strerror(errno.EIO), os.strerror(errno.ENOSPC))), message)
        self.nfs("ping", server.url("/files"))
