# SPDX-License-Identifier: BSD-3-Clause
"""Copies: several connections, preserved attributes, the summary, the resumption of an interrupted copy, errors."""
import errno
import filecmp
import os
import re
import signal
import subprocess
import unittest

from kit.case import Case
from kit.fabric import OPTIONS
from kit.server import binary
from kit.trees import differences, make_tree, write_noise
from kit.waiting import DEADLINE_S, scaled, wait_until

SUMMARY = re.compile(r"(\d+) files, (\d+) bytes, \d+\.\d MB/s(?:; (\d+) bytes were there already)?\n")
STRIDE = 64 << 20  # an interrupted file is resumed at a multiple of this


def metadata(root):
    """Mode and modification time of each file and directory. Leaves out symbolic links."""
    found = {}
    for parent, folders, names in os.walk(root):
        for name in [".", *names]:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                s = os.stat(path)
                found[os.path.relpath(path, root)] = (oct(s.st_mode), s.st_mtime_ns)
    return found


def bytes_of(root):
    return sum(os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(root) for name in names
               if not os.path.islink(os.path.join(parent, name)))


class SeveralConnections(Case):
    """READ and WRITE over several connections of one client."""

    def both_ways(self, server, connections):
        write_noise(self.folder / "local", 5 << 20)
        self.nfs("put", "--connections", connections, self.folder / "local", server.url("files/remote"))
        self.assertTrue(filecmp.cmp(self.folder / "local", self.files / "remote", shallow=False))
        self.nfs("get", "--connections", connections, server.url("files/remote"), self.folder / "back")
        self.assertTrue(filecmp.cmp(self.folder / "local", self.folder / "back", shallow=False))

    def test_a_file(self):
        server = self.server(options=("--threads", "2"))
        self.both_ways(server, 3)
        # Two copies over three connections each. A copy does without a connection that is not made in time.
        self.assertIn(server.counters()["accepted"], range(3, 7))

    def test_a_tree(self):
        server = self.server()
        tree = make_tree(self.folder / "tree", 30)
        self.nfs("put", "-r", "--connections", 4, tree, server.url("files"))
        self.assertEqual(differences(tree, self.files / "tree"), [])
        self.assertIn(server.counters()["accepted"], range(2, 5))

    def test_a_server_that_accepts_fewer(self):
        server = self.server(options=("--max-connections", "2"))
        self.both_ways(server, 4)

    def test_their_number_is_bounded(self):
        for wrong in ("0", "17", "many"):
            self.nfs_fails("get", "--connections", wrong, "nfs://127.0.0.1/files/name", self.folder / "back", status=2)


class Copies(Case):
    timeout_s = 300
    serial = True

    def copied(self, *arguments):
        """Makes a copy; returns its summary: files, bytes transferred, bytes that were there already."""
        said = self.nfs(*arguments, deadline_s=4 * DEADLINE_S).decode()
        match = SUMMARY.fullmatch(said)
        self.assertTrue(match, said)
        return tuple(int(number or 0) for number in match.groups())

    def breaks_off(self, when, *arguments):
        """Starts a copy and kills its client once when() is true. Returns False if the copy ended before."""
        client = subprocess.Popen([binary("rpcrdma-nfs"), *OPTIONS, *map(str, arguments)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        wait_until(lambda: when() or client.poll() is not None, "a part of the copy")
        client.send_signal(signal.SIGKILL)
        return client.wait() == -signal.SIGKILL

    def special_tree(self):
        tree = make_tree(self.folder / "tree", 30)
        for number, mode in enumerate((0o400, 0o444, 0o600, 0o644, 0o755, 0o777)):
            path = tree / f"mode{mode:o}"
            path.write_bytes(b"content" * number)
            path.chmod(mode)
            os.utime(path, ns=(10**18 + number, 10**18 + 123456789 * number))
        sealed = tree / "sealed"
        sealed.mkdir()
        (sealed / "inside").write_bytes(b"x")
        sealed.chmod(0o500)
        for folder in (sealed, tree / "d0", tree):
            os.utime(folder, ns=(10**18, 10**18 + 987654321))
        (tree / "d1").chmod(0o1777)
        return tree

    def test_modes_and_times_are_kept(self):
        server = self.server()
        tree = self.special_tree()
        for export in ("/files", "/memory"):
            self.copied("put", "-r", tree, server.url(export))
            back = self.folder / f"back{export[1:]}"
            self.copied("get", "-r", server.url(f"{export}/tree"), back)
            self.assertEqual(metadata(back), metadata(tree), export)
        self.assertEqual(metadata(self.files / "tree"), metadata(tree))

    def test_summary(self):
        server = self.server()
        tree = make_tree(self.folder / "tree", 40)
        links = 2
        files, total, kept = self.copied("put", "-r", tree, server.url("/files"))
        self.assertEqual((files, total, kept), (40 + links, bytes_of(tree), 0))
        self.assertEqual(self.copied("get", "-r", server.url("/files/tree"), self.folder / "back"), (files, total, 0))
        one = tree / "d0" / "e0" / "file 0 \u00fc"
        self.assertEqual(self.nfs("put", one, server.url("/files/one")), b"", "a single file has no summary")

    def test_an_interrupted_tree_resumes(self):
        server = self.server()
        tree = make_tree(self.folder / "tree", scaled(2000, 400))
        some = scaled(400, 80)
        for what, target, command in (
                ("put", self.files / "tree", ("put", "-r", tree, server.url("/files"))),
                ("get", self.folder / "back" / "tree", ("get", "-r", server.url("/files/tree"), self.folder / "back"))):
            with self.subTest(what):
                target.parent.mkdir(exist_ok=True)
                self.assertTrue(self.breaks_off(lambda: len(list(target.glob("*/*/*"))) > some, *command))
                files, moved, kept = self.copied(*command, "--resume")
                self.assertGreater(kept, 0)
                self.assertEqual(moved + kept, bytes_of(tree))
                self.assertEqual(files, scaled(2000, 400) + 2)
                self.assertEqual(differences(tree, target), [])
                self.assertEqual(metadata(target), metadata(tree))
                self.assertEqual(self.copied(*command, "--resume"), (files, 0, bytes_of(tree)))

    def test_changed_files_are_copied_again(self):
        server = self.server()
        tree = make_tree(self.folder / "tree", 10)
        command = ("put", "-r", tree, server.url("/files"), "--resume")
        self.copied(*command)
        changed = tree / "d0" / "e0" / "file 0 \u00fc"
        changed.write_bytes(bytes(byte ^ 1 for byte in changed.read_bytes()) or b"new")
        (self.files / "tree" / "d1" / "e1" / "file 1 \u00fc").write_bytes(b"longer, or else")
        self.copied(*command)
        self.assertEqual(differences(tree, self.files / "tree"), [])

    def test_an_interrupted_large_file_resumes(self):
        server = self.server()
        size = STRIDE * scaled(20, 12, tiny=5) // 4 + 4321
        source = write_noise(self.folder / "large", size, 1)
        target, back = self.files / "large", self.folder / "back"
        for what, path, command in (("put", target, ("put", source, server.url("/files/large"))),
                                    ("get", back, ("get", server.url("/files/large"), back))):
            with self.subTest(what):
                enough = lambda: path.exists() and path.stat().st_size > STRIDE * 9 // 8
                self.assertTrue(self.breaks_off(enough, *command, "--resume"))
                # Changes the first stride: the resumed copy must not copy it again.
                with open(path, "r+b") as file:
                    file.seek(1000)
                    file.write(b"changed")
                self.nfs(*command, "--resume", deadline_s=4 * DEADLINE_S)
                self.assertEqual(path.stat().st_size, size)
                self.assertFalse(path.stat().st_mode & 0o1000, "the mark of an incomplete file is removed")
                with open(path, "r+b") as file, open(source, "rb") as original:
                    file.seek(1000)
                    self.assertEqual(file.read(7), b"changed")
                    original.seek(1000)
                    file.seek(1000)
                    file.write(original.read(7))
                self.assertTrue(filecmp.cmp(source, path, shallow=False))

    @unittest.skipUnless(os.geteuid() == 0, "only root can act as another user")
    def test_unreadable_sources_leave_the_target(self):
        files, here = self.folder / "files", self.folder / "here"
        for folder in (files / "tree", here / "tree"):
            folder.mkdir(parents=True)
            (folder / "file").write_bytes(b"of " + os.fsencode(folder))
        (files / "tree" / "file").chmod(0o600)
        server = self.server([f"{files}:/files"])
        for arguments in (("get", server.url("/files/tree/file"), here / "tree" / "file"),
                          ("get", "-r", server.url("/files/tree"), here)):
            message = self.nfs_fails("--uid", 1000, "--gid", 1000, *arguments)
            self.assertTrue(message.endswith(": " + os.strerror(errno.EACCES)), message)
            self.assertEqual((here / "tree" / "file").read_bytes(), b"of " + os.fsencode(here / "tree"))
        fresh = self.folder / "fresh"
        fresh.mkdir()
        self.nfs_fails("--uid", 1000, "--gid", 1000, "get", server.url("/files/tree/file"), fresh / "file")
        self.nfs_fails("--uid", 1000, "--gid", 1000, "get", "-r", server.url("/files/tree"), fresh)
        self.assertEqual(list(fresh.rglob("*")), [fresh / "tree"], "no incomplete copy is left")
        self.nfs("get", server.url("/files/tree/file"), here / "tree" / "file")
        self.assertEqual((here / "tree" / "file").read_bytes(), (files / "tree" / "file").read_bytes())

    def test_errors_have_the_messages_of_the_system(self):
        files, fixed = self.folder / "files", self.folder / "fixed"
        for folder in (files / "folder" / "file", files / "other" / "folder", fixed):
            folder.mkdir(parents=True)
        (files / "file").touch()
        server = self.server([f"{files}:/files", f"{fixed}:/fixed,ro"])
        url = lambda path: server.url(f"/files/{path}")
        for what, *arguments in (
                (errno.ENOENT, "cat", url("absent")), (errno.ENOENT, "put", self.folder / "absent", url("file")),
                (errno.EISDIR, "cat", url("folder")), (errno.EISDIR, "get", url("file"), files / "folder"),
                (errno.ENOTDIR, "ls", url("file/x")), (errno.EEXIST, "mkdir", url("folder")),
                (errno.ENOTEMPTY, "mv", url("other/folder"), server.url("/files")),
                (errno.EROFS, "mkdir", server.url("/fixed/new")), (errno.EINVAL, "readlink", url("file")),
                (errno.ENAMETOOLONG, "mkdir", url("n" * 256))):
            with self.subTest(arguments):
                message = self.nfs_fails(*arguments)
                self.assertTrue(message.endswith(": " + os.strerror(what)), message)
