# SPDX-License-Identifier: BSD-3-Clause
"""The user ids under which files are accessed, by a server that runs as root and by one that does not."""
import filecmp
import os
import unittest

from kit.case import Case
from kit.server import escaped
from kit.trees import write_noise
from kit.waiting import DEADLINE_S
from kit.wire import nfs
from kit.wire.rpc import ACCESS, NFS, RpcPeer, call, header, opaque

USERS = {"one": (1001, 1001), "two": (1002, 1002)}


@unittest.skipUnless(os.geteuid() == 0, "only root can act as several users")
class Users(Case):
    prefix = ()

    def serve(self):
        return self.server(prefix=self.prefix)

    def as_user(self, user, *arguments):
        uid, gid = USERS[user]
        return self.nfs("--uid", uid, "--gid", gid, *arguments)

    def refused(self, user, *arguments):
        uid, gid = USERS[user]
        return self.nfs_fails("--uid", uid, "--gid", gid, *arguments)

    def setUp(self):
        super().setUp()
        self.local = self.folder / "local"
        self.local.write_bytes(b"content")

    def test_files_of_two_users(self):
        server = self.serve()
        self.files.chmod(0o1777)
        file = server.url("/files/theirs")
        self.as_user("one", "put", self.local, file)
        self.as_user("one", "chmod", "600", file)
        self.assertEqual((self.files / "theirs").stat().st_uid, 1001)
        self.assertIn("Permission denied", self.refused("two", "cat", file))
        self.refused("two", "rm", file)
        self.refused("two", "chmod", "666", file)
        self.refused("two", "truncate", "0", file)
        self.refused("two", "mv", file, server.url("/files/mine"))
        self.assertEqual(self.as_user("one", "cat", file), b"content")
        self.as_user("one", "chmod", "644", file)
        self.assertEqual(self.as_user("two", "cat", file), b"content")
        self.assertEqual((self.files / "theirs").read_bytes(), b"content")

    def test_trees_that_one_may_not_enter(self):
        server = self.serve()
        self.files.chmod(0o1777)
        self.as_user("one", "mkdir", server.url("/files/private"))
        self.as_user("one", "put", self.local, server.url("/files/private/file"))
        self.as_user("one", "chmod", "700", server.url("/files/private"))
        self.refused("two", "ls", server.url("/files/private"))
        self.refused("two", "cat", server.url("/files/private/file"))
        self.refused("two", "put", self.local, server.url("/files/private/other"))
        self.assertEqual(os.listdir(self.files / "private"), ["file"])

    def test_many_callers_at_once_are_not_mixed_up(self):
        """Many calls of two users are in flight on one connection, so the threads change identities all the time."""
        server = self.serve()
        self.files.chmod(0o1777)
        with RpcPeer(server.address) as peer:
            root = peer.mount("/files")
            for first in range(0, 64, 8):
                expected = {}
                for number in range(first, first + 8):
                    uid = 1001 + number % 2
                    expected[peer.next_xid()] = number
                    procedure, arguments = nfs.create(root, f"n{number}".encode(), nfs.GUARDED)
                    peer.send(header(peer.xid) + call(peer.xid, NFS, 3, procedure, arguments, uid=uid, gid=uid))
                for _ in range(8):
                    peer.receive()
        for number in range(64):
            status = (self.files / f"n{number}").stat()
            self.assertEqual((status.st_uid, status.st_gid), (1001 + number % 2, 1001 + number % 2))


class UsersOfAnAsynchronousExport(Users):
    """The threads of the event loop make the changes, if the file system is local and no fabric is a verbs
    device."""

    def serve(self):
        self.files = self.folder / "files"
        self.files.mkdir()
        return self.server([f"{escaped(self.files)}:/files,async"], prefix=self.prefix)


class UsersOnOneProcessor(UsersOfAnAsynchronousExport):
    """Many changes wait for the thread of the event loop."""
    prefix = ("taskset", "-c", str(min(os.sched_getaffinity(0))))


@unittest.skipUnless(os.geteuid() == 0, "only root can start the server as another user")
class AsItself(Case):
    timeout_s = 200

    def unprivileged(self):
        files, state = self.folder / "files", self.folder / "server" / "state"
        state.mkdir(parents=True)
        files.mkdir()
        for folder in (self.folder, files, state.parent, state):
            folder.chmod(0o755)
            os.chown(folder, 65534, 65534)
        return files, self.server([f"{escaped(files)}:/files"],
                                  prefix=("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"))

    def test_a_server_without_privilege_serves_all_as_itself(self):
        files, server = self.unprivileged()
        self.assertEqual(server.log().count("no privilege to act as other users"), 1)
        (self.folder / "local").write_bytes(b"content")
        self.nfs("--uid", 1001, "--gid", 1001, "put", self.folder / "local", server.url("/files/file"))
        self.assertEqual((files / "file").stat().st_uid, 65534)
        self.assertEqual(self.nfs("--uid", 1002, "--gid", 1002, "cat", server.url("/files/file")), b"content")
        foreign = files / "closed"
        foreign.write_bytes(b"secret")
        foreign.chmod(0o600)
        with RpcPeer(server.address) as peer:
            handle = peer.lookup(peer.mount("/files"), "closed")
            results = peer.results(NFS, 3, ACCESS, opaque(handle) + (63).to_bytes(4, "big"))
            self.assertEqual(results[-4:], bytes(4), "ACCESS reports what the server itself may do")
        self.nfs_fails("--uid", 0, "--gid", 0, "cat", server.url("/files/closed"))

    def test_no_mode_keeps_the_server_from_its_own_files(self):
        files, server = self.unprivileged()
        local = self.folder / "local"
        local.write_bytes(b"read-only")
        local.chmod(0o444)
        for what in ("made", "there"):
            with self.subTest(what):
                self.nfs("put", local, server.url("/files/file"))
                self.assertEqual((files / "file").read_bytes(), b"read-only")
                self.assertEqual((files / "file").stat().st_mode & 0o7777, 0o444)
        # The server has not opened or created any of these files.
        for mode in (0o444, 0o200, 0):
            with self.subTest(f"{mode:o}"), RpcPeer(server.address) as peer:
                other = files / f"other{mode:o}"
                other.write_bytes(b"0123")
                os.chown(other, 65534, 65534)
                other.chmod(mode)
                handle = peer.lookup(peer.mount("/files"), other.name)
                self.assertEqual(nfs.ask(peer, *nfs.read(handle))[0], nfs.OK)
                self.assertEqual(nfs.ask(peer, *nfs.write(handle, b"45", 4))[0], nfs.OK)
                self.assertEqual(other.read_bytes(), b"012345")
                self.assertEqual(other.stat().st_mode & 0o7777, mode)
        with RpcPeer(server.address) as peer:
            root = peer.mount("/files")
            status, rest = nfs.ask(peer, *nfs.create(root, b"changed"))
            self.assertEqual(status, nfs.OK)
            handle = nfs.handle_of_new(rest)
            self.assertEqual(nfs.ask(peer, *nfs.write(handle, b"first"))[0], nfs.OK)
            self.assertEqual(nfs.ask(peer, *nfs.setattr_(handle, nfs.mode_of(0o444)))[0], nfs.OK)
            self.assertEqual(nfs.ask(peer, *nfs.write(handle, b"second"))[0], nfs.OK)
        self.assertEqual((files / "changed").read_bytes(), b"second")

    def test_a_large_file_that_may_be_resumed(self):
        files, server = self.unprivileged()
        source = write_noise(self.folder / "large", (64 << 20) + 4321, 1)
        for what in ("new", "again"):
            with self.subTest(what):
                self.nfs("put", "--resume", source, server.url("/files/large"), deadline_s=2 * DEADLINE_S)
                self.assertTrue(filecmp.cmp(source, files / "large", shallow=False))
                self.assertFalse((files / "large").stat().st_mode & 0o1000)
