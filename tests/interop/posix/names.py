# SPDX-License-Identifier: BSD-3-Clause
"""Names: rename, link, unlink, folders, symbolic links, and valid names."""
import os

from kit import described, digest, get, group, mode_of, opened, put, say, tried, try_open


def tree():
    for folder in ("empty", "other", "full", "full/sub"):
        os.mkdir(folder)
    put("full/file", b"inner")
    put("a", b"a")
    put("b", b"bb")
    os.symlink("a", "link")


@group
def rename():
    tree()
    for what, old, new in (
            ("a file over a file", "a", "b"), ("to itself", "b", "b"), ("nothing", "missing", "x"),
            ("into nothing", "b", "missing/x"), ("a file over a folder", "b", "empty"),
            ("a folder over a file", "empty", "b"), ("over a folder that is not empty", "empty", "full"),
            ("over an empty folder", "other", "empty"), ("into its own tree", "full", "full/sub/x"),
            ("over its parent", "full/sub", "full"),
            ("into itself", "full", "full/x"), ("below a file", "empty", "b/x"), ("a link", "link", "moved"),
            ("over a link", "b", "moved"),
            ("a file, with a slash", "moved", "slash/"), ("a folder, with a slash", "empty", "slash/"),
            (".", ".", "x"), ("..", "..", "x"),
            ("to .", "slash", "."), ("to an empty name", "slash", ""), ("a name of 256", "slash", "n" * 256),
            ("a name of 255", "slash", "n" * 255)):
        tried(what, os.rename, old, new)
    say("what is there", [name[:9] for name in sorted(os.listdir("."))], get("moved"))
    os.link("moved", "twin")
    tried("between two names of one file", os.rename, "moved", "twin")
    say("both are there", described("moved"), os.path.samefile("moved", "twin"))
    before = (os.stat(".").st_nlink, os.stat("full").st_nlink)
    os.rename("full/sub", "up")
    say("a folder to its parent's side: links", os.stat(".").st_nlink - before[0], os.stat("full").st_nlink - before[1])
    say("its parent", os.path.samefile("up/..", "."),
        os.path.samefile("full/sub/.." if os.path.exists("full/sub") else ".", "."))
    os.mkdir("up/old")
    before = os.stat("up").st_nlink
    os.rename("full", "up/old")
    say("over an empty folder elsewhere: links", os.stat("up").st_nlink - before, get("up/old/file"))
    with opened("twin") as file:
        os.rename("twin", "up/elsewhere")
        say("while it is open", os.read(file, 9), described("up/elsewhere"))
    os.chdir("up")
    os.rename("../up", "../renamed")
    say("of the current folder", os.path.samefile(".", "../renamed"), sorted(os.listdir(".")))
    os.chdir("..")


@group
def links():
    put("file", b"content")
    os.mkdir("folder")
    os.symlink("file", "symbolic")
    os.mkfifo("fifo")
    for what, old, new in (
            ("a file", "file", "second"), ("over a name", "file", "second"), ("into a folder", "file", "folder/third"),
                           ("a folder", "folder", "other"), ("nothing", "missing", "other"),
                           ("below a file", "file", "file/x"),
                           ("a fifo", "fifo", "fifo2"), ("with a slash", "file", "x/"),
                           ("a name of 256", "file", "n" * 256)):
        tried(what, os.link, old, new)
    tried("a symbolic link itself", os.link, "symbolic", "symbolic2", follow_symlinks=False)
    say("they are", described("file"), described("symbolic2"), os.path.samefile("file", "folder/third"),
        described("fifo2"))
    put("second", b"changed")
    os.chmod("folder/third", 0o600)
    say("seen by the first name", get("file"), mode_of("file"))
    for name in ("file", "second", "folder/third"):
        say("links", os.stat(name).st_nlink)
        os.unlink(name)
    for number in range(100):
        os.link("fifo", f"link{number}")
    say("100 more", os.lstat("fifo").st_nlink)


@group
def unlink_and_folders():
    tree()
    for what, call, name in (
            ("unlink a folder", os.unlink, "empty"), ("unlink nothing", os.unlink, "missing"),
            ("unlink an empty name", os.unlink, ""),
            ("unlink below a file", os.unlink, "a/x"), ("unlink with a slash", os.unlink, "a/"),
            ("unlink a link", os.unlink, "link"),
            ("unlink .", os.unlink, "."), ("rmdir a file", os.rmdir, "a"), ("rmdir nothing", os.rmdir, "missing"),
            ("rmdir full", os.rmdir, "full"),
            ("rmdir .", os.rmdir, "empty/."), ("rmdir ..", os.rmdir, "full/sub/.."),
            ("rmdir with a slash", os.rmdir, "other/"),
            ("rmdir empty", os.rmdir, "empty"), ("mkdir there already", os.mkdir, "full"),
            ("mkdir over a file", os.mkdir, "a"),
            ("mkdir below nothing", os.mkdir, "missing/x"), ("mkdir below a file", os.mkdir, "a/x"),
            ("mkdir with a slash", os.mkdir, "made/"),
            ("mkdir .", os.mkdir, "."), ("mkdir ..", os.mkdir, ".."), ("mkdir, 255 octets", os.mkdir, "d" * 255),
            ("mkdir, 256", os.mkdir, "d" * 256)):
        tried(what, call, name)
    say("what is there", [name[:9] for name in sorted(os.listdir("."))])
    before = os.stat(".").st_nlink
    os.mkdir("counted")
    say("mkdir: links of the parent, of the new one", os.stat(".").st_nlink - before, os.stat("counted").st_nlink)
    os.rmdir("counted")
    say("rmdir: links of the parent", os.stat(".").st_nlink - before)
    os.mkdir("here")
    os.chdir("here")
    os.rmdir("../here")
    tried("a new file in a folder that is gone", try_open, "x", os.O_WRONLY | os.O_CREAT)
    tried("a new folder in it", os.mkdir, "x")
    os.chdir("..")
    with opened("full") as folder:
        tried("by a descriptor", os.unlink, "file", dir_fd=folder)
        tried("the folder too", os.rmdir, "sub", dir_fd=folder)
        os.rmdir("full")
        tried("the listing of one that is gone", os.listdir, folder)


@group
def symbolic_links():
    for length in (1, 59, 60, 255, 1023, 1024, 1025, 4000, 4095, 4096):
        target = ("t" * 49 + "/") * 90
        tried(f"{length} octets", os.symlink, target[:length], f"long{length}")
        if os.path.lexists(f"long{length}"):
            say("read back", os.readlink(f"long{length}") == target[:length], os.lstat(f"long{length}").st_size)
    os.mkdir("folder")
    put("folder/file", b"there")
    for name, target in (
            ("relative", "folder/file"), ("absolute", os.path.abspath("folder/file")), ("dangling", "missing"),
               ("loop", "loop"),
                         ("ring1", "ring2"), ("ring2", "ring1"), ("to_folder", "folder"), ("strange", b"\xff\x01\n\\")):
        os.symlink(target, name)
    say("what they are", described("relative"), described("loop"), os.readlink(b"strange"))
    for what, call, arguments in (
            ("empty", os.symlink, ("", "x")), ("over a name", os.symlink, ("a", "loop")),
            ("in nothing", os.symlink, ("a", "missing/x")),
            ("readlink of a file", os.readlink, ("folder/file",)), ("readlink of a folder", os.readlink, ("folder",)),
            ("read by one", get, ("relative",)),
            ("by an absolute one", get, ("absolute",)), ("by a dangling one", get, ("dangling",)),
            ("by a loop", get, ("loop",)),
            ("by a ring", get, ("ring1",)), ("over a folder", get, ("to_folder/file",)),
            ("rmdir by one", os.rmdir, ("to_folder",)),
            ("rmdir with a slash", os.rmdir, ("to_folder/",)), ("unlink with a slash", os.unlink, ("to_folder/",)),
            ("mkdir at one", os.mkdir, ("dangling",)),
            ("chmod by one", os.chmod, ("relative", 0o640)), ("lchown", os.lchown, ("relative", 1000, 1001)),
            ("chmod by a dangling one", os.chmod, ("dangling", 0o640))):
        tried(what, call, *arguments)
    say("the link, the file", described("relative"), described("folder/file"))
    put("end", b"the end")
    for number in range(41):
        os.symlink("end" if number == 0 else f"chain{number - 1}", f"chain{number}")
    tried("a chain of 40", get, "chain39")
    tried("a chain of 41", get, "chain40")


def fits(length):
    """Opens a path of that many bytes."""
    parts = length // 200
    path = "/".join(["p" * 199] * parts)
    rest = length - len(path)
    path += "/" + "q" * (rest - 1) if rest > 1 else ""
    try_open(path, os.O_RDONLY)


@group
def name_rules():
    every = bytes(value for value in range(1, 256) if value != ord("/"))
    for what, name in (("254 octets", b"n" * 254), ("255 octets", b"n" * 255), ("256 octets", b"n" * 256),
             ("every octet", every[:200]),
                       ("the rest of them", every[200:]), ("not UTF-8", b"\xff\xfe\x80"),
                       ("half a character", b"\xc3"), ("composed", "é".encode()),
                       ("decomposed", "e\u0301".encode()), ("a newline", b"a\nb"), ("a backslash", b"a\\b"),
                       ("a space", b" "), ("three dots", b"..."),
                       ("a dash", b"-"), ("a colon", b"c:"), ("lower case", b"case"), ("upper case", b"CASE"),
                       ("hidden", b".nfs0001"), ("a quote", b"'\"")):
        tried(what, try_open, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    listed = sorted(os.listdir(b"."))
    say("listed", len(listed), digest(b"/".join(listed)))
    for length in (1000, 4095, 4096):
        tried(f"a path of {length} octets", fits, length)
    tried("slashes in the middle", get, "..//name_rules///case")
    for name in listed:
        os.unlink(name)
    say("left", os.listdir("."))
