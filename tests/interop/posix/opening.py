# SPDX-License-Identifier: BSD-3-Clause
"""open(2): flags, modes, appending."""
import os

from kit import described, digest, get, group, mode_of, opened, put, say, tried, try_open

NEW = os.O_WRONLY | os.O_CREAT


@group
def open_flags():
    tried("O_EXCL, new", try_open, "new", NEW | os.O_EXCL)
    tried("O_EXCL, there already", try_open, "new", NEW | os.O_EXCL)
    os.symlink("target", "dangling")
    tried("O_EXCL at a dangling link", try_open, "dangling", NEW | os.O_EXCL)
    say("its target", os.path.exists("target"))
    tried("O_CREAT at a dangling link", try_open, "dangling", NEW)
    say("its target then", os.path.exists("target"))
    put("file", b"content")
    tried("O_CREAT, there already", try_open, "file", NEW)
    say("its content", get("file"))
    tried("O_TRUNC", try_open, "file", os.O_WRONLY | os.O_TRUNC)
    say("its content", get("file"))
    os.mkdir("folder")
    for what, name, flags in (
            ("nothing there", "missing", os.O_RDONLY), ("folder missing", "missing/file", NEW),
            ("file as a folder", "file/file", os.O_RDONLY), ("file with a slash", "file/", os.O_RDONLY),
            ("O_CREAT with a slash", "other/", NEW), ("O_DIRECTORY on a file", "file", os.O_RDONLY | os.O_DIRECTORY),
            ("O_DIRECTORY on a folder", "folder", os.O_RDONLY | os.O_DIRECTORY),
            ("folder to read", "folder", os.O_RDONLY),
            ("folder to write", "folder", os.O_WRONLY), ("folder to read and write", "folder", os.O_RDWR),
            ("O_CREAT at a folder", "folder", os.O_RDONLY | os.O_CREAT),
            ("O_TRUNC on a folder", "folder", os.O_RDONLY | os.O_TRUNC),
            ("O_NOFOLLOW on a link", "dangling", os.O_RDONLY | os.O_NOFOLLOW), ("O_PATH", "file", os.O_PATH),
            ("O_PATH and O_NOFOLLOW on a link", "dangling", os.O_PATH | os.O_NOFOLLOW),
            ("O_SYNC", "file", os.O_RDWR | os.O_SYNC),
            ("O_DSYNC", "file", os.O_RDWR | os.O_DSYNC), ("O_NOATIME", "file", os.O_RDONLY | os.O_NOATIME),
            ("O_TMPFILE", ".", os.O_RDWR | os.O_TMPFILE), ("an empty name", "", NEW)):
        tried(what, try_open, name, flags)
    with opened("file", os.O_WRONLY) as descriptor:
        tried("reading what is open to write", os.read, descriptor, 1)
    with opened("file") as descriptor:
        tried("writing what is open to read", os.write, descriptor, b"1")
    with opened("folder") as descriptor:
        tried("reading a folder", os.read, descriptor, 1)


@group
def open_modes():
    for mask in (0, 0o022, 0o077, 0o777):
        os.umask(mask)
        try_open(f"mask{mask:o}", NEW, 0o666)
        os.mkdir(f"folder{mask:o}", 0o777)
        say(f"umask {mask:03o}", mode_of(f"mask{mask:o}"), mode_of(f"folder{mask:o}"))
    os.umask(0)
    for mode in (0, 0o111, 0o400, 0o1644, 0o2755, 0o4755, 0o7777):
        try_open(f"file{mode:o}", NEW | os.O_EXCL, mode)
        os.mkdir(f"made{mode:o}", mode)
        say(f"mode {mode:04o}", described(f"file{mode:o}"), "and", described(f"made{mode:o}"))
    with opened("closed", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0) as descriptor:
        say("written with mode 0", os.write(descriptor, b"some"), os.pread(descriptor, 9, 0))


@group
def append():
    with opened("log", NEW | os.O_APPEND) as one, opened("log", os.O_WRONLY | os.O_APPEND) as two:
        for text in (b"a1 ", b"a2 "):
            os.write(one, text)
            os.write(two, text.replace(b"a", b"b"))
        say("two in turn", get("log"), os.lseek(one, 0, os.SEEK_CUR), os.lseek(two, 0, os.SEEK_CUR))
        os.lseek(one, 0, os.SEEK_SET)
        os.write(one, b"end")
        say("after a seek to the start", get("log"))
        os.pwrite(one, b"!", 0)
        say("pwrite at the start", get("log"))
        os.ftruncate(two, 3)
        os.write(one, b"x")
        say("after the other truncated", get("log"))
        with opened("log", os.O_WRONLY) as third:
            os.pwrite(third, b"far", 10)
        os.write(two, b"end")
        say("after another process wrote behind it", get("log"))
    append_from_processes()


def append_from_processes():
    """Concurrent appends of several processes lose nothing."""
    children = []
    for which in range(4):
        child = os.fork()
        if child == 0:
            with opened("many", NEW | os.O_APPEND) as descriptor:
                for _ in range(25):
                    os.write(descriptor, bytes([65 + which]) * 100)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    content = get("many")
    pieces = [content[at:at + 100] for at in range(0, len(content), 100)]
    say("4 processes, 25 pieces each", len(content), all(len(set(piece)) == 1 for piece in pieces),
        digest(b"".join(sorted(pieces))))
