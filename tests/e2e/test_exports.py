# SPDX-License-Identifier: BSD-3-Clause
"""Several exports, read-only ones, those for some addresses only, odd names; handles over a restart."""
from kit.case import Case
from kit.fabric import ADDRESS
from kit.rpc import GETATTR, NFS, RpcPeer, opaque
from kit.server import escaped
from kit.trees import noise


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
        server = self.server([f"{a}:/a,allow=192.0.2.0/24", f"{b}:/b,allow={ADDRESS}/32"])
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
