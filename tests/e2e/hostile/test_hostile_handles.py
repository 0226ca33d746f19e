# SPDX-License-Identifier: BSD-3-Clause
"""Handles that the server did not issue, and names and links that lead out of an export: nothing outside the export is
read or written."""
import os
import random
import threading
import time

from kit.case import Case
from kit.waiting import scaled, some_of
from kit.wire import nfs
from kit.wire.nfs import ACCES, BADHANDLE, EXIST, INVAL, NAMETOOLONG, NOENT, OK, STALE, ask, handle_of_new
from kit.wire.rpc import GETATTR, LOOKUP, READDIRPLUS, READLINK, REMOVE, RMDIR, RpcPeer, opaque
from kit.wire.tcp import TcpPeer

REFUSED = {BADHANDLE, STALE}
SECRET = b"no client may read this"


def tree(top):
    """The contents and metadata of all objects below `top`, to detect changes. Links are not followed."""
    seen = {}
    for folder, names, files in os.walk(os.fsencode(top)):
        for name in [b"."] + names + files:
            path = os.path.join(folder, name)
            s = os.lstat(path)
            content = None
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    content = file.read()
            seen[path] = (s.st_mode, s.st_uid, s.st_gid, s.st_nlink, s.st_size, s.st_mtime_ns, s.st_ino, content)
    return seen


class Hostile(Case):
    """The directory `outside` is outside of the export and must not change."""

    timeout_s = 300

    def setUp(self):
        super().setUp()
        self.outside = self.folder / "outside"
        self.outside.mkdir()
        (self.outside / "secret").write_bytes(SECRET)
        (self.outside / "empty").mkdir()
        self.one = self.server(options=["--tcp-listen", "127.0.0.1:0"])
        self.before = tree(self.outside)
        self.peers = [TcpPeer(self.one.tcp[0]), RpcPeer(self.one.address)]
        for peer in self.peers:
            self.addCleanup(peer.close)
        self.tcp = self.peers[0]
        self.addCleanup(self.check_outside)

    def check_outside(self):
        self.assertEqual(tree(self.outside), self.before)
        self.assertTrue(self.one.alive())

    def refused(self, peer, handle, among=None):
        """Every procedure, or each call of `among`, refuses `handle`."""
        for procedure, arguments in among or nfs.all_procedures(handle, peer.mount("/files")):
            status, rest = ask(peer, procedure, arguments)
            self.assertIn(status, REFUSED, f"procedure {procedure}, handle {handle.hex()}")
            self.assertNotIn(SECRET, rest)


class Handles(Hostile):
    def setUp(self):
        super().setUp()
        (self.files / "file").write_bytes(b"content")
        (self.files / "folder").mkdir()
        self.inside = tree(self.files)
        self.addCleanup(lambda: self.assertEqual(tree(self.files), self.inside))
        root = self.tcp.mount("/files")
        self.good = [root, self.tcp.lookup(root, "file"), self.tcp.lookup(root, "folder"), self.tcp.mount("/memory")]

    def test_random(self):
        dice = random.Random(4)
        for peer in self.peers:
            for length in some_of(range(65)):
                self.refused(peer, dice.randbytes(length))

    def test_truncated_and_extended(self):
        for good in self.good:
            for length in some_of(range(len(good))):
                self.refused(self.tcp, good[:length], [(GETATTR, opaque(good[:length]))])
            for more in some_of(range(1, 65 - len(good))):
                self.refused(self.tcp, good + bytes(more), [(GETATTR, opaque(good + bytes(more)))])
        self.refused(self.tcp, self.good[1][:-1])

    def test_every_bit_flipped(self):
        for peer in self.peers:
            for good in self.good:
                for bit in some_of(range(len(good) * 8)):
                    bad = bytearray(good)
                    bad[bit // 8] ^= 1 << bit % 8
                    self.refused(peer, bytes(bad), [(GETATTR, opaque(bytes(bad)))])

    def test_parts_of_one_and_another(self):
        for first in self.good:
            for second in self.good:
                for cut in some_of(range(1, min(len(first), len(second)))):
                    mixed = first[:cut] + second[cut:]
                    if mixed not in self.good:
                        self.refused(self.tcp, mixed, [(GETATTR, opaque(mixed))])

    def test_of_another_server(self):
        other = self.server([f"{self.outside}:/files", "memory:/memory"], name="other")
        with RpcPeer(other.address) as peer:
            root = peer.mount("/files")
            stolen = [root, peer.lookup(root, "secret"), peer.mount("/memory")]
        for peer in self.peers:
            for handle in stolen:
                self.refused(peer, handle)

    def test_of_an_object_that_is_gone(self):
        root = self.good[0]
        status, rest = ask(self.tcp, *nfs.create(root, b"gone"))
        self.assertEqual(status, OK)
        gone = handle_of_new(rest)
        self.assertEqual(ask(self.tcp, REMOVE, nfs.place(root, b"gone"))[0], OK)
        # An object that reuses the inode number is a different object.
        for index in range(20):
            self.assertEqual(ask(self.tcp, *nfs.create(root, b"new%d" % index))[0], OK)
        for procedure in (nfs.read(gone), nfs.write(gone, b"x"), (GETATTR, opaque(gone))):
            self.assertEqual(ask(self.tcp, *procedure)[0], STALE)
        for index in range(20):
            self.assertEqual(ask(self.tcp, REMOVE, nfs.place(root, b"new%d" % index))[0], OK)
        self.inside = tree(self.files)

    def test_of_a_directory_that_left_the_export(self):
        (self.outside / "secret").rename(self.files / "folder" / "secret")
        moved = self.tcp.lookup(self.tcp.mount("/files"), "folder")
        (self.files / "folder").rename(self.outside / "folder")
        time.sleep(0.1)  # the server may use what it has found for 20 ms
        self.refused(self.tcp, moved)
        (self.outside / "folder" / "secret").rename(self.outside / "secret")
        (self.outside / "folder").rename(self.files / "folder")
        self.before, self.inside = tree(self.outside), tree(self.files)


class Names(Hostile):
    BAD = (b"", b".", b"..", b"/", b"/etc/passwd", b"../outside", b"../outside/secret", b"a/b", b"a/", b"nul\0nul", b"\0",
           b"n" * 256, b"../" * 80, b"n" * 1000)

    def calls_with(self, root, folder, file, name):
        yield nfs.create(root, name, nfs.UNCHECKED, nfs.size_of(0))
        yield nfs.create(root, name, nfs.GUARDED)
        yield nfs.create(root, name, nfs.EXCLUSIVE)
        yield nfs.mkdir(root, name)
        yield nfs.symlink(root, name, b"target")
        yield nfs.mknod(root, name)
        yield nfs.link(file, root, name)
        yield REMOVE, nfs.place(root, name)
        yield RMDIR, nfs.place(root, name)
        yield nfs.rename(root, name, folder, b"taken")
        yield nfs.rename(root, b"file", folder, name)

    def test_names_that_lead_out(self):
        for export in ("/files", "/memory"):
            for peer in self.peers:
                root = peer.mount(export)
                file = handle_of_new(ask(peer, *nfs.create(root, b"file"))[1])
                folder = handle_of_new(ask(peer, *nfs.mkdir(root, b"folder"))[1])
                before = tree(self.files)
                for name in some_of(self.BAD):
                    for procedure, arguments in self.calls_with(root, folder, file, name):
                        status = ask(peer, procedure, arguments)[0]
                        self.assertIn(status, {ACCES, EXIST, INVAL, NAMETOOLONG, NOENT},
                                      f"{export}: procedure {procedure}, name {name!r}")
                    status, rest = ask(peer, LOOKUP, nfs.place(root, name))
                    if name in (b".", b".."):  # both name the root itself
                        self.assertEqual(rest[:4 + len(root)], opaque(root)[:4 + len(root)])
                    else:
                        self.assertNotEqual(status, OK, name)
                self.assertEqual(tree(self.files), before)
                self.assertEqual(ask(peer, REMOVE, nfs.place(root, b"file"))[0], OK)
                self.assertEqual(ask(peer, RMDIR, nfs.place(root, b"folder"))[0], OK)

    def test_names_that_are_merely_odd(self):
        odd = [b"n" * 255, b"\xff\xfe\x80", b"\xc3", b"\xed\xa0\x80", b"a\nb", b"\x01\x7f", b" ", b"...", b"-rf", b"*", b"\\",
               "ä".encode() * 127, "a\u0308".encode(), "ä".encode()]
        for export in ("/files", "/memory"):
            root = self.tcp.mount(export)
            for name in odd:
                status, rest = ask(self.tcp, *nfs.create(root, name, nfs.GUARDED))
                self.assertEqual(status, OK, name)
                made = handle_of_new(rest)
                self.assertEqual(ask(self.tcp, *nfs.write(made, name))[0], OK)
                status, rest = ask(self.tcp, LOOKUP, nfs.place(root, name))
                self.assertEqual((status, rest[4:4 + len(made)]), (OK, made))
            listing = ask(self.tcp, READDIRPLUS, opaque(root) + bytes(16) + b"\0\1\0\0\0\1\0\0")[1]
            for name in odd:
                self.assertIn(opaque(name), listing)
            if export == "/files":
                self.assertEqual(sorted(os.listdir(os.fsencode(self.files))), sorted(odd))
            for name in odd:
                self.assertEqual(ask(self.tcp, REMOVE, nfs.place(root, name))[0], OK)


class Links(Hostile):
    """The server treats symbolic links as objects: it never follows them."""

    def setUp(self):
        super().setUp()
        self.targets = {"absolute": self.outside / "secret", "relative": "../outside/secret", "folder": self.outside,
                        "dangling": self.outside / "new", "proc": "/proc/self/root", "itself": "itself",
                        "up": "..", "descriptor": "/proc/self/fd/0"}
        for name, target in self.targets.items():
            (self.files / name).symlink_to(target)
        self.root = self.tcp.mount("/files")

    def test_as_objects(self):
        for name, target in self.targets.items():
            handle = self.tcp.lookup(self.root, name)
            status, rest = ask(self.tcp, READLINK, opaque(handle))
            self.assertEqual(status, OK)
            self.assertIn(opaque(os.fsencode(target)), rest)
            for procedure, arguments in nfs.all_procedures(handle, self.root):
                if procedure in (GETATTR, READLINK, nfs.ACCESS, nfs.FSSTAT, nfs.FSINFO, nfs.PATHCONF, nfs.LINK):
                    continue
                status, rest = ask(self.tcp, procedure, arguments)
                self.assertNotEqual(status, OK, f"{name}, procedure {procedure}")
                self.assertNotIn(SECRET, rest)
            self.assertEqual(os.readlink(self.files / name), str(target))

    def test_their_names_in_the_place_of_new_ones(self):
        for name in map(os.fsencode, self.targets):
            for how in (nfs.UNCHECKED, nfs.GUARDED, nfs.EXCLUSIVE):
                status, _ = ask(self.tcp, *nfs.create(self.root, name, how, nfs.size_of(0)))
                self.assertNotEqual(status, OK, name)
            for call in (nfs.mkdir(self.root, name), nfs.mknod(self.root, name), nfs.symlink(self.root, name, b"x")):
                self.assertEqual(ask(self.tcp, *call)[0], EXIST, name)
            self.assertNotEqual(ask(self.tcp, RMDIR, nfs.place(self.root, name))[0], OK)

    def test_moved_linked_and_removed_they_stay_links(self):
        for name in map(os.fsencode, self.targets):
            handle = self.tcp.lookup(self.root, name.decode())
            self.assertEqual(ask(self.tcp, *nfs.link(handle, self.root, b"second"))[0], OK)
            self.assertEqual(ask(self.tcp, *nfs.rename(self.root, b"second", self.root, b"third"))[0], OK)
            self.assertTrue(os.path.islink(self.files / "third"))
            self.assertEqual(ask(self.tcp, REMOVE, nfs.place(self.root, b"third"))[0], OK)
            self.assertEqual(ask(self.tcp, REMOVE, nfs.place(self.root, name))[0], OK)

    def test_attributes_are_not_set_behind_them(self):
        owner = bytes(4) + bytes(3) + b"\1" + bytes(3) + b"\7" + bytes(16)  # sattr3: uid 7
        mode = bytes(3) + b"\1" + bytes(2) + b"\1\xff" + bytes(20)
        for name in self.targets:
            handle = self.tcp.lookup(self.root, name)
            for attributes in (owner, mode, nfs.size_of(0)):
                ask(self.tcp, *nfs.setattr_(handle, attributes))
        self.check_outside()

    def test_a_link_in_the_place_of_a_directory(self):
        """A handle names the same object, or none, after another process has put a link in the place of the object."""
        (self.files / "place").mkdir()
        (self.files / "place" / "secret").write_bytes(b"inside")
        place = self.tcp.lookup(self.root, "place")
        (self.files / "place").rename(self.files / "aside")
        (self.files / "place").symlink_to(self.outside)
        status, rest = ask(self.tcp, LOOKUP, nfs.place(place, b"secret"))
        if status == OK:
            length = int.from_bytes(rest[:4], "big")
            self.assertIn(b"inside", ask(self.tcp, *nfs.read(rest[4:4 + length]))[1])
        else:
            self.assertEqual(status, STALE)
        ask(self.tcp, *nfs.create(place, b"new"))
        self.assertFalse((self.outside / "new").exists())

    def test_a_link_that_comes_and_goes(self):
        """During lookups `place` alternates between a directory and a link out of the export."""
        (self.files / "place").mkdir()
        (self.files / "place" / "secret").write_bytes(b"inside")
        stop = threading.Event()

        def swap():
            while not stop.is_set():
                (self.files / "place").rename(self.files / "aside")
                (self.files / "place").symlink_to(self.outside)
                (self.files / "place").unlink()
                (self.files / "aside").rename(self.files / "place")

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            found = 0
            for _ in range(scaled(2000, 2000, tiny=100)):
                status, rest = ask(self.tcp, LOOKUP, nfs.place(self.root, b"place"))
                if status != OK:
                    self.assertEqual(status, NOENT)
                    continue
                place = rest[4:4 + int.from_bytes(rest[:4], "big")]
                ask(self.tcp, *nfs.create(place, b"new"))
                status, rest = ask(self.tcp, LOOKUP, nfs.place(place, b"secret"))
                if status == OK:
                    found += 1
                    self.assertNotIn(SECRET, ask(self.tcp, *nfs.read(rest[4:4 + int.from_bytes(rest[:4], "big")]))[1])
        finally:
            stop.set()
            swapper.join()
        self.assertGreater(found, 0)
        self.check_outside()
