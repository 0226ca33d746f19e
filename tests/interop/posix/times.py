# SPDX-License-Identifier: BSD-3-Clause
"""Times: to the nanosecond, set by which user, and changed by which operation."""
import ctypes
import os

from kit import ANNA, BERT, as_user, group, opened, put, say, tried

PAST = (10**18 + 111111111, 10**18 + 222222222)
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2


class Spec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


_libc = ctypes.CDLL(None, use_errno=True)


def utimensat(name, *both):
    """Sets both times, each (seconds, nanoseconds). The nanoseconds may be NOW or OMIT, which os.utime lacks."""
    if _libc.utimensat(-100, os.fsencode(name), (Spec * 2)(*both), 0) != 0:
        raise OSError(ctypes.get_errno(), "utimensat", name)


def split(nanoseconds):
    return divmod(nanoseconds, 10**9)


def times(name):
    """For the access and the modification time: whether it is still PAST, or has changed."""
    s = os.lstat(name)
    return " ".join("past" if value == past else "changed" for value, past in zip((s.st_atime_ns, s.st_mtime_ns), PAST))


def aged(name):
    os.utime(name, ns=PAST, follow_symlinks=False)
    return os.lstat(name).st_ctime_ns


def later(than):
    """Waits until the file system's clock has advanced."""
    while True:
        put("clock")
        if os.stat("clock").st_ctime_ns > than:
            os.unlink("clock")
            return


@group
def set_times():
    put("file")
    os.mkdir("folder")
    os.symlink("file", "link")
    for name in ("file", "folder", "link"):
        for what, value in (
                ("the epoch", 0), ("one nanosecond", 1), ("almost a second", 999999999), ("2038", 2**31 * 10**9 + 5),
                  ("the last", (2**32 - 1) * 10**9 + 999999999)):
            os.utime(name, ns=(value, value + 0), follow_symlinks=False)
            s = os.lstat(name)
            say(f"{name}, {what}", s.st_atime_ns == value, s.st_mtime_ns == value)
    for what, value in (("before 1970", -1), ("behind the last", 2**33 * 10**9)):
        os.utime("file", ns=(value, value))
        say(what, os.stat("file").st_mtime_ns)
    say("the link's target", os.stat("file").st_mtime_ns != os.lstat("link").st_mtime_ns)
    for what, both in (("only atime", ((5, 6), (0, OMIT))), ("only mtime", ((0, OMIT), (5, 6))),
             ("neither", ((0, OMIT), (0, OMIT)))):
        aged("file")
        utimensat("file", *both)
        say(what, times("file"), os.stat("file").st_atime_ns == 5 * 10**9 + 6,
            os.stat("file").st_mtime_ns == 5 * 10**9 + 6)
    for what, both in (("both now", ((0, NOW), (0, NOW))), ("atime now", ((0, NOW), (0, OMIT))),
             ("mtime now, atime set", (split(PAST[0]), (0, NOW)))):
        aged("file")
        utimensat("file", *both)
        s = os.stat("file")
        say(what, times("file"), s.st_atime_ns == s.st_mtime_ns)
    tried("too many nanoseconds", utimensat, "file", (0, 10**9), (0, 0))
    tried("of nothing", os.utime, "missing")
    with opened("file") as file:
        tried("by a descriptor to read", os.utime, file, ns=PAST)
    say("then", times("file"))


@group
def times_by_users():
    put("file")
    os.chown("file", *ANNA[:2])
    for mode in (0o644, 0o666, 0o444, 0o000, 0o222):
        os.chmod("file", mode)
        for who, user in (("owner", ANNA), ("other", BERT)):
            seen = [as_user(user, utimensat, "file", *both) for both in
                    ((split(PAST[0]), split(PAST[1])), ((0, NOW), (0, NOW)), ((0, NOW), (0, OMIT)),
                     (split(PAST[0]), (0, OMIT)), ((0, OMIT), (0, OMIT)))]
            say(f"{mode:03o} by the {who}: set, now, one now, one set, none", *seen)


@group
def changed_by():
    put("file", b"content")
    os.mkdir("folder")
    os.mkdir("other")
    put("folder/file")
    for what, name, call, arguments in (
            ("write", "file", put, ("file", b"more")), ("chmod", "file", os.chmod, ("file", 0o600)),
            ("chown", "file", os.chown, ("file", 1, 1)),
            ("link", "file", os.link, ("file", "second")), ("unlink of a second name", "file", os.unlink, ("second",)),
            ("truncate", "file", os.truncate, ("file", 2)), ("truncate to the same", "file", os.truncate, ("file", 2)),
            ("rename", "file", os.rename, ("file", "file2")),
            ("new file in a folder", "folder", put, ("folder/new",)),
            ("unlink in it", "folder", os.unlink, ("folder/new",)),
            ("mkdir in it", "folder", os.mkdir, ("folder/sub",)), ("rmdir in it", "folder", os.rmdir, ("folder/sub",)),
            ("symlink in it", "folder", os.symlink, ("x", "folder/link")),
            ("link in it", "folder", os.link, ("folder/file", "folder/hard")),
            ("rename in it", "folder", os.rename, ("folder/hard", "folder/hard2")),
            ("rename out of it", "folder", os.rename, ("folder/hard2", "other/hard2")),
            ("rename into it", "folder", os.rename, ("other/hard2", "folder/hard2")),
            ("write below it", "folder", put, ("folder/file", b"x")),
            ("chmod below it", "folder", os.chmod, ("folder/file", 0o600)),
            ("mknod in it", "folder", os.mkfifo, ("folder/fifo",)),
            ("failed mkdir in it", "folder", failed_mkdir, ("folder/fifo",))):
        ctime = aged(name)
        later(ctime)
        call(*arguments)
        name = "file2" if what == "rename" else name
        if name == "file2":
            os.rename("file2", "file")
            name = "file"
        s = os.lstat(name)
        say(what, "mtime", "past" if s.st_mtime_ns == PAST[1] else "changed", "ctime",
            "changed" if s.st_ctime_ns != ctime else "same")


def failed_mkdir(name):
    try:
        os.mkdir(name)
    except FileExistsError:
        return
    raise AssertionError(name)
