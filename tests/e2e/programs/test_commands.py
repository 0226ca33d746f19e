# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the client, against a directory and a memory export."""
import os
import stat
import subprocess
import time
from struct import pack, unpack_from

from kit.case import Case
from kit.fabric import OPTIONS
from kit.trees import differences, make_tree, noise
from kit.waiting import scaled, some_of
from kit.wire.rpc import NFS, READ, WRITE, RpcPeer, opaque


FILE_SYNC = 2


class Commands:
    """The tests that both classes below run; each class names an export."""

    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.root = self.one.url(self.export)

    def url(self, name):
        return f"{self.root}/{name}"

    def put(self, name, content=b"content\n"):
        local = self.folder / "local"
        local.write_bytes(content)
        self.nfs("put", local, self.url(name))

    def test_ping(self):
        self.nfs("ping", self.root)
        self.nfs("ping", self.one.url("/"))

    def test_put_cat_get(self):
        self.put("file", b"some\ntext")
        self.assertEqual(self.nfs("cat", self.url("file")), b"some\ntext")
        self.nfs("get", self.url("file"), self.folder / "back")
        self.assertEqual((self.folder / "back").read_bytes(), b"some\ntext")

    def test_put_replaces_and_shortens(self):
        self.put("file", noise(5000))
        self.put("file", b"short")
        self.assertEqual(self.nfs("cat", self.url("file")), b"short")

    def test_into_a_directory(self):
        self.nfs("mkdir", self.url("d"))
        (self.folder / "name").write_bytes(b"1")
        self.nfs("put", self.folder / "name", self.url("d"))
        self.assertEqual(self.ls(self.url("d")), ["name"])
        (self.folder / "into").mkdir()
        self.nfs("get", self.url("d/name"), self.folder / "into")
        self.assertEqual((self.folder / "into" / "name").read_bytes(), b"1")

    def test_sizes_around_the_limits(self):
        sizes = [0, 1, 3, 4, 868, 869, 4095, 4096, 4097, 65535, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3000000]
        for size in some_of(sizes):
            with self.subTest(size=size):
                content = noise(size, size)
                self.put(f"f{size}", content)
                self.assertEqual(self.nfs("cat", self.url(f"f{size}")), content)
                self.nfs("get", self.url(f"f{size}"), self.folder / f"back{size}")
                self.assertEqual((self.folder / f"back{size}").read_bytes(), content)

    def test_ls_is_sorted_and_plain(self):
        for name in ("b", "a", "C", ".hidden", "a b"):
            self.put(name)
        self.assertEqual(self.ls(self.root), sorted(["b", "a", "C", ".hidden", "a b"]))

    def test_ls_of_a_file(self):
        self.put("only")
        self.assertEqual(len(self.ls(self.url("only"))), 1)

    def test_ls_long(self):
        self.put("file", noise(1234))
        self.nfs("mkdir", self.url("folder"))
        self.nfs("ln", "-s", "to/where", self.url("link"))
        lines = self.nfs("ls", "-l", self.root).decode().splitlines()
        self.assertEqual(len(lines), 3)
        file, folder, link = lines
        self.assertTrue(file.startswith("-") and file.endswith(" file") and " 1234 " in file, file)
        self.assertTrue(folder.startswith("d") and folder.endswith(" folder"), folder)
        self.assertTrue(link.startswith("l") and link.endswith(" link -> to/where"), link)

    def test_ls_long_is_as_ls_has_it(self):
        local = self.folder / "seen"
        (local / "folder").mkdir(parents=True)
        (local / "link").symlink_to("to/where")
        for name, size, mode, age in (("old", 5, 0o604, 400), ("new", 123456, 0o755, 1), ("empty", 0, 0o400, 3)):
            (local / name).write_bytes(bytes(size))
            (local / name).chmod(mode)
            os.utime(local / name, (0, int(time.time()) - age * 86400))
        self.nfs("put", "-r", local, self.root)
        ours = self.nfs("ls", "-l", self.url("seen")).decode().splitlines()
        done = subprocess.run(["ls", "-l", str(local)], env=dict(os.environ, LC_ALL="C"), capture_output=True, text=True,
                              check=True)
        theirs = done.stdout.splitlines()[1:]  # without the line of the total

        def words(line):
            all_of_it = line.split()
            if line.startswith("l"):  # ls shows a link's own mode and times
                return [all_of_it[0], *all_of_it[-3:]]
            # The link count and size of a directory depend on the file system.
            return all_of_it if line.startswith("-") else [all_of_it[0], *all_of_it[2:4], *all_of_it[5:]]

        self.assertEqual([words(line) for line in ours], [words(line) for line in theirs])

    def test_large_directory(self):
        count = scaled(2000, 500)
        local = self.folder / "many"
        local.mkdir()
        names = [f"name-{index:05}-{'x' * (index % 40)}" for index in range(count)]
        for name in names:
            (local / name).touch()
        self.nfs("put", "-r", local, self.root)
        self.assertEqual(self.ls(self.url("many")), names)
        self.assertEqual(len(self.nfs("ls", "-l", self.url("many")).splitlines()), count)

    def test_stat(self):
        self.put("file", noise(777))
        shown = self.nfs("stat", self.url("file")).decode()
        self.assertIn("777", shown)
        self.assertNotEqual(shown, self.nfs("stat", self.root).decode())

    def test_df(self):
        self.assertRegex(self.nfs("df", self.root).decode(), r"\d")

    def test_names(self):
        names = ["with space", "\u00fcber \u65e5\u672c", "n" * 255, "per%cent", "quote'\"", "semi;colon", "-dash", "tab\there"]
        local = self.folder / "names"
        local.mkdir()
        for name in names:
            (local / name).write_bytes(name.encode())
        self.nfs("put", "-r", local, self.root)
        self.assertEqual(sorted(self.ls(self.url("names"))), sorted(names))
        self.nfs("get", "-r", self.url("names"), self.folder / "back")
        self.assertEqual(differences(local, self.folder / "back"), [])
        self.assertEqual(self.nfs("cat", self.url("names/with space")), b"with space")
        self.assertEqual(self.nfs("cat", self.url("names/per%25cent")), b"per%cent")

    def test_name_too_long(self):
        local = self.folder / "local"
        local.touch()
        self.nfs_fails("put", local, self.url("n" * 256))

    def test_mkdir(self):
        self.nfs("mkdir", self.url("a"))
        self.nfs_fails("mkdir", self.url("a"))
        self.nfs_fails("mkdir", self.url("x/y/z"))
        self.nfs("mkdir", "-p", self.url("x/y/z"))
        self.nfs("mkdir", "-p", self.url("x/y/z"))
        self.assertEqual(self.ls(self.url("x/y")), ["z"])

    def test_mkdir_over_a_file(self):
        self.put("file")
        self.nfs_fails("mkdir", self.url("file"))
        self.nfs_fails("mkdir", "-p", self.url("file/below"))

    def test_mkdir_over_a_symbolic_link_that_leads_nowhere(self):
        self.nfs("ln", "-s", "missing", self.url("link"))
        self.assertIn("File exists", self.nfs_fails("mkdir", "-p", self.url("link")))
        self.assertIn("Not a directory", self.nfs_fails("mkdir", "-p", self.url("link/below")))

    def test_rm(self):
        self.put("file")
        self.nfs("rm", self.url("file"))
        self.assertEqual(self.ls(self.root), [])
        self.nfs_fails("rm", self.url("file"))

    def test_rm_of_a_directory(self):
        self.nfs("mkdir", "-p", self.url("a/b/c"))
        self.put("a/b/file")
        self.nfs("ln", "-s", "..", self.url("a/up"))
        self.nfs_fails("rm", self.url("a"))
        self.nfs("rm", "-r", self.url("a"))
        self.assertEqual(self.ls(self.root), [])

    def test_mv(self):
        self.put("a", b"from a")
        self.put("b", b"from b")
        self.nfs("mv", self.url("a"), self.url("b"))
        self.assertEqual(self.ls(self.root), ["b"])
        self.assertEqual(self.nfs("cat", self.url("b")), b"from a")
        self.nfs("mkdir", self.url("d"))
        self.nfs("mv", self.url("b"), self.url("d/c"))
        self.assertEqual(self.ls(self.url("d")), ["c"])
        self.nfs_fails("mv", self.url("nothing"), self.url("something"))

    def test_mv_of_a_directory_into_itself(self):
        self.nfs("mkdir", "-p", self.url("d/e"))
        self.nfs_fails("mv", self.url("d"), self.url("d/e/f"))
        self.assertEqual(self.ls(self.url("d")), ["e"])

    def test_symlinks(self):
        target = "some/where/\u00fc " + "t" * 900
        self.nfs("ln", "-s", target, self.url("link"))
        self.assertEqual(self.nfs("readlink", self.url("link")).decode(), target + "\n")
        self.nfs_fails("ln", "-s", "again", self.url("link"))
        self.put("file")
        self.nfs_fails("readlink", self.url("file"))

    def test_chmod(self):
        self.put("file")
        self.nfs("chmod", "640", self.url("file"))
        self.assertTrue(self.nfs("ls", "-l", self.root).decode().startswith("-rw-r-----"))
        self.nfs("chmod", "0751", self.url("file"))
        self.assertTrue(self.nfs("ls", "-l", self.root).decode().startswith("-rwxr-x--x"))
        self.nfs_fails("chmod", "9", self.url("file"), status=2)

    def test_truncate(self):
        self.put("file", b"0123456789")
        self.nfs("truncate", "4", self.url("file"))
        self.assertEqual(self.nfs("cat", self.url("file")), b"0123")
        self.nfs("truncate", "8", self.url("file"))
        self.assertEqual(self.nfs("cat", self.url("file")), b"0123\0\0\0\0")
        self.nfs_fails("truncate", "ten", self.url("file"), status=2)

    def test_sparse_file_beyond_4_gib(self):
        far = 5 << 30
        self.put("sparse", b"front")
        with RpcPeer(self.one.address) as peer:
            handle = peer.lookup(peer.mount(self.export), "sparse")
            written = peer.results(NFS, 3, WRITE, opaque(handle) + pack(">QII", far, 5, FILE_SYNC) + opaque(b"tail."))
            self.assertEqual(unpack_from(">I", written), (0,))
            self.nfs("truncate", far + 7, self.url("sparse"))
            self.assertIn(str(far + 7), self.nfs("stat", self.url("sparse")).decode())
            read = peer.results(NFS, 3, READ, opaque(handle) + pack(">QI", far - 3, 100))
            # Status, attributes, count, eof, data.
            self.assertEqual(unpack_from(">I", read), (0,))
            self.assertEqual(read[4 + 88:], pack(">II", 10, 1) + opaque(bytes(3) + b"tail." + bytes(2)))
        self.nfs("truncate", "7", self.url("sparse"))
        self.assertEqual(self.nfs("cat", self.url("sparse")), b"front\0\0")

    def test_trees_copy_as_cp_does(self):
        local = make_tree(self.folder / "tree", 40)
        self.nfs("put", "-r", local, self.url("new"))
        self.nfs("put", "-r", local, self.url("new"))
        self.assertIn("tree", self.ls(self.url("new")))
        self.nfs("rm", "-r", self.url("new/tree"))
        self.nfs("get", "-r", self.url("new"), self.folder / "back")
        self.assertEqual(differences(local, self.folder / "back"), [])
        self.nfs("get", "-r", self.url("new"), self.folder / "back")
        self.assertEqual(differences(local, self.folder / "back" / "new"), [])

    def test_copying_a_directory_needs_r(self):
        self.nfs("mkdir", self.url("d"))
        self.nfs_fails("get", self.url("d"), self.folder / "back")
        (self.folder / "local").mkdir()
        self.nfs_fails("put", self.folder / "local", self.url("e"))

    def test_what_is_not_there(self):
        for command in ("cat", "stat", "readlink", "ls"):
            self.nfs_fails(command, self.url("nothing"))
        self.nfs_fails("get", self.url("nothing"), self.folder / "back")
        self.assertFalse((self.folder / "back").exists())
        self.nfs_fails("put", self.folder / "nothing", self.url("file"))
        self.nfs_fails("chmod", "600", self.url("nothing"))
        self.nfs_fails("truncate", "0", self.url("nothing"))
        self.nfs_fails("cat", self.root)
        self.put("file")
        self.nfs_fails("cat", self.url("file/below"))

    def test_dots_stay_inside(self):
        self.put("file", b"inside")
        done = self.run_program("rpcrdma-nfs", *OPTIONS, "cat", self.url("../../../../etc/passwd"))
        self.assertNotIn(b"root:", done.stdout)
        self.assertNotEqual(done.returncode, 0)


class DirectoryExport(Commands, Case):
    export = "/files"

    def test_the_server_holds_what_was_put(self):
        self.put("file", noise(100000))
        self.assertEqual((self.files / "file").read_bytes(), noise(100000))
        self.nfs("ln", "-s", "target", self.url("link"))
        self.assertEqual(os.readlink(self.files / "link"), "target")
        self.nfs("chmod", "4711", self.url("file"))
        self.assertEqual(stat.S_IMODE((self.files / "file").stat().st_mode), 0o4711)

    def test_changes_on_the_server_are_seen(self):
        (self.files / "new").write_bytes(b"local")
        self.assertEqual(self.nfs("cat", self.url("new")), b"local")

    def test_links_are_not_followed_out(self):
        (self.folder / "secret").write_bytes(b"secret")
        (self.files / "out").symlink_to(self.folder)
        (self.files / "direct").symlink_to(self.folder / "secret")
        self.nfs_fails("cat", self.url("out/secret"))
        self.nfs_fails("cat", self.url("direct"))


class MemoryExport(Commands, Case):
    export = "/memory"
