# SPDX-License-Identifier: BSD-3-Clause
"""Listing folders, also while they change, and positions in a listing."""
import ctypes
import os

from kit import digest, group, kind, put, say

MANY = 10000
PREPARED = "prepared"


def fill(folder, count, name):
    """Makes hard links to one file, which cost less than files."""
    origin = f"{folder}/../origin"
    if not os.path.exists(origin):
        put(origin)
    for number in range(count):
        os.link(origin, f"{folder}/{name.format(number)}")


def prepare(folder):
    os.mkdir(f"{folder}/{PREPARED}")
    fill(f"{folder}/{PREPARED}", MANY, "entry-{:06}")


def inside(name):
    os.mkdir(name)
    os.chdir(name)


def seen(entries):
    entries = sorted(entries)
    return len(entries), "each once:", len(set(entries)) == len(entries), digest("/".join(entries).encode())


@group
def listing():
    say("empty", os.listdir("."))
    os.mkdir("folder")
    put("file")
    os.symlink("x", "link")
    os.mkfifo("fifo")
    with os.scandir(".") as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            s = os.lstat(entry.name)
            say(entry.name, kind(s.st_mode), entry.inode() == s.st_ino, entry.is_dir(), entry.is_symlink(),
                entry.is_file(follow_symlinks=False))
    for name in ("folder", "file", "link", "fifo"):
        (os.rmdir if name == "folder" else os.unlink)(name)
        say("one less", sorted(os.listdir(".")))


@group
def many_entries():
    here = f"../{PREPARED}"
    if not os.path.exists(here):
        prepare(".")
        here = PREPARED
    say("all", *seen(os.listdir(here)))
    with os.scandir(here) as entries:
        say("one file", len({entry.inode() for entry in entries}))
    # Some names are removed while the folder is read: each name is listed exactly once.
    gone, listed = set(), []
    with os.scandir(here) as entries:
        for number, entry in enumerate(entries):
            listed.append(entry.name)
            if number % 25:
                continue
            os.unlink(f"{here}/{entry.name}")
            gone.add(entry.name)
    say("removed on the way", len(gone), len(listed), len(set(listed)))
    left = os.listdir(here)
    say("left", len(left), not gone & set(left))


@group
def coming_and_going():
    inside("changing")
    fill(".", 400, "entry-{:06}")
    with os.scandir(".") as entries:
        first = [next(entries).name]
        fill(".", 150, "new-{:04}")
        for number in range(150):
            os.unlink(f"new-{number:04}")
        fill(".", 100, "late-{:04}")
        rest = [entry.name for entry in entries]
    listed = first + rest
    old = [name for name in listed if name.startswith("entry-")]
    say("those that stay", *seen(old))
    say("any twice", len(set(listed)) != len(listed))
    say("next time", *seen(os.listdir(".")))
    for name in os.listdir("."):
        os.unlink(name)
    say("all gone", os.listdir("."))
    os.chdir("..")


class Entry(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint64), ("offset", ctypes.c_int64), ("length", ctypes.c_uint16),
                ("kind", ctypes.c_uint8), ("name", ctypes.c_char * 256)]


@group
def positions():
    """telldir and seekdir, which the module os lacks."""
    libc = ctypes.CDLL(None)
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.argtypes = libc.telldir.argtypes = libc.rewinddir.argtypes = libc.closedir.argtypes = [ctypes.c_void_p]
    libc.readdir.restype = ctypes.POINTER(Entry)
    libc.telldir.restype = ctypes.c_long
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def rest(stream):
        while entry := libc.readdir(stream):
            yield entry.contents.name

    inside("places")
    fill(".", 300, "entry-{:06}")
    stream = libc.opendir(b".")
    places, names = [], []
    for name in rest(stream):
        names.append(name)
        places.append(libc.telldir(stream))
    say("entries", len(names), len(set(names)), b"." in names, b".." in names, "positions", len(set(places)))
    good = 0
    for at in (0, 1, 100, 250, len(names) - 2, len(names) - 1):
        libc.seekdir(stream, places[at])
        good += list(rest(stream)) == names[at + 1:]
    say("back to 6 places", good)
    libc.seekdir(stream, places[250])
    for name in names[240:245]:
        if name not in (b".", b".."):
            os.unlink(name)
    say("after removals before it", list(rest(stream)) == names[251:])
    libc.rewinddir(stream)
    put("fresh")
    again = list(rest(stream))
    say("from the start", len(again) == len(os.listdir(".")) + 2, b"fresh" in again)
    libc.closedir(stream)
    os.chdir("..")
