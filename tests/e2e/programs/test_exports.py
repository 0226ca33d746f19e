# SPDX-License-Identifier: BSD-3-Clause
"""Several exports, read-only exports, allowed addresses, unusual names, squashed users; handles after a restart."""
import os
import unittest

from kit.case import Case
from kit.fabric import ADDRESS, CLIENT
from kit.server import escaped
from kit.trees import noise
from kit.wire.rpc import GETATTR, NFS, RpcPeer, opaque


class Exports(Case):
    def folders(self, *names):
        made = [self.folder / name for name in names]
        for folder in made:
            folder.mkdir()
            (folder / "who").write_text(folder.name)
        return made

    def test_two_directories(self):
        a, b = self.folders("a", "b")
        server = self.server([f"{a}:/first", f"{b}:/second"])
        self.assertEqual(self.nfs("cat", server.url("/first/who")), b"a")
        self.assertEqual(self.nfs("cat", server.url("/second/who")), b"b")

    def test_longest_prefix_is_the_export(self):
        a, b = self.folders("a", "b")
        server = self.server([f"{a}:/x", f"{b}:/x/y"])
        self.assertEqual(self.nfs("cat", server.url("/x/who")), b"a")
        self.assertEqual(self.nfs("cat", server.url("/x/y/who")), b"b")

    def test_the_export_of_all(self):
        a, b = self.folders("a", "b")
        server = self.server([f"{a}:/", f"{b}:/x"])
        self.assertEqual(self.nfs("ls", server.url("/")), b"who\n")
        self.assertIn(b"directory", self.nfs("stat", server.url("/")))
        self.assertIn(b"Use%", self.nfs("df", server.url("/")))
        self.assertEqual(self.nfs("cat", server.url("/who")), b"a")
        self.assertEqual(self.nfs("cat", server.url("/x/who")), b"b")
        self.nfs_fails("rm", "-r", server.url("/"), status=2)
        self.nfs_fails("ls", self.server([f"{b}:/x"], name="other").url("/"))

    def test_default_name(self):
        (folder,) = self.folders("my files")
        server = self.server([str(folder)])
        self.assertEqual(self.nfs("cat", server.url("/my%20files/who")), b"my files")

    def test_escapes(self):
        (folder,) = self.folders("a,b:c\\d")
        server = self.server([f"{escaped(folder)}:/odd"])
        self.assertEqual(self.nfs("cat", server.url("/odd/who")), b"a,b:c\\d")

    def test_read_only(self):
        (folder,) = self.folders("a")
        server = self.server([f"{folder}:/a,ro", "memory:/m,ro"])
        self.assertEqual(self.nfs("cat", server.url("/a/who")), b"a")
        for arguments in (("put", folder / "who", server.url("/a/new")), ("rm", server.url("/a/who")),
                          ("mkdir", server.url("/a/d")), ("chmod", "600", server.url("/a/who")),
                          ("truncate", "0", server.url("/a/who")), ("ln", "-s", "x", server.url("/a/l")),
                          ("mv", server.url("/a/who"), server.url("/a/me")), ("mkdir", server.url("/m/d"))):
            self.nfs_fails(*arguments)
        self.assertEqual([path.name for path in folder.iterdir()], ["who"])
        self.assertEqual((folder / "who").read_text(), "a")

    def test_addresses_that_are_not_allowed(self):
        a, b = self.folders("a", "b")
        server = self.server([f"{a}:/a,allow=192.0.2.0/24", f"{b}:/b,allow={CLIENT}/32"])
        self.nfs_fails("cat", server.url("/a/who"))
        self.assertEqual(self.nfs("cat", server.url("/b/who")), b"b")

    def test_what_is_not_exported(self):
        server = self.server()
        self.nfs_fails("ls", server.url("/nothing"))
        self.nfs_fails("ls", server.url("/etc"))

    def test_exports_that_cannot_be(self):
        for spec in (str(self.folder / "missing"), "memory:", "", "/etc/passwd", "memory:/m,what=this"):
            with self.subTest(spec=spec):
                done = self.run_program("rpcrdma-nfsd", "--listen", f"{ADDRESS}:0", "--export", spec)
                self.assertIn(done.returncode, (1, 2))
                self.assertEqual(done.stdout, b"")
                self.assertTrue(done.stderr.strip())

    def test_handles_stay_valid_over_a_restart(self):
        server = self.server()
        (self.files / "file").write_bytes(noise(10))
        with RpcPeer(server.address) as peer:
            handle = peer.lookup(peer.mount("/files"), "file")
            before = peer.results(NFS, 3, GETATTR, opaque(handle))
        server.kill()
        server.start()
        with RpcPeer(server.address) as peer:
            self.assertEqual(peer.results(NFS, 3, GETATTR, opaque(handle)), before)


@unittest.skipUnless(os.geteuid() == 0, "only root can act as another user")
class Squashing(Case):
    """The owners of files on the disk, and the rights of anonymous callers."""

    def setUp(self):
        super().setUp()
        (self.folder / "local").write_bytes(b"x")
        self.open, self.closed = self.folder / "open", self.folder / "closed"
        self.open.mkdir()
        self.open.chmod(0o1777)
        self.closed.mkdir(0o755)

    def put(self, server, path, uid, gid):
        self.nfs("--uid", uid, "--gid", gid, "put", self.folder / "local", server.url(path))

    def owner(self, name):
        s = (self.open / name).stat()
        return s.st_uid, s.st_gid

    def test_root_is_anonymous_by_default(self):
        """The default is root_squash. The class Config tests the default in a configuration file."""
        for option in ("", ",root_squash"):
            with self.subTest(option=option):
                self.root_is_anonymous(self.server([f"{self.open}:/open{option}", f"{self.closed}:/closed{option}"],
                                                   name=f"server{option}", squashes=True))

    def root_is_anonymous(self, server):
        self.put(server, "/open/root", 0, 0)
        self.put(server, "/open/user", 1234, 1235)
        self.assertEqual((self.owner("root"), self.owner("user")), ((65534, 65534), (1234, 1235)))
        self.assertIn("Permission denied", self.nfs_fails("--uid", 0, "--gid", 0, "put", self.folder / "local",
                                                          server.url("/closed/root")))
        self.nfs_fails("--uid", 0, "--gid", 0, "chmod", "777", server.url("/open/user"))
        self.nfs_fails("--uid", 0, "--gid", 0, "rm", server.url("/open/user"))
        for name in ("root", "user"):
            (self.open / name).unlink()

    def test_all_are_anonymous(self):
        server = self.server([f"{self.open}:/open,all_squash,anonuid=77,anongid=88"])
        for uid in (0, 1234):
            self.put(server, f"/open/{uid}", uid, uid)
            self.assertEqual(self.owner(str(uid)), (77, 88))
            self.nfs("--uid", 9999, "--gid", 9999, "rm", server.url(f"/open/{uid}"))

    def test_nobody_is_anonymous(self):
        server = self.server([f"{self.open}:/open,no_root_squash", f"{self.closed}:/closed"])
        self.put(server, "/open/root", 0, 0)
        self.assertEqual(self.owner("root"), (0, 0))
        self.put(server, "/closed/root", 0, 0)
        self.nfs_fails("--uid", 1234, "--gid", 1234, "put", self.folder / "local", server.url("/closed/user"))
