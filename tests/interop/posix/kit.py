# SPDX-License-Identifier: BSD-3-Clause
"""Functions with which checks report their outcomes."""
import contextlib
import errno
import hashlib
import os
import stat
import sys
import time

groups = {}  # name: function without arguments, called in an empty current folder
_current = ""


def group(function):
    def run():
        global _current  # pylint: disable=global-statement
        _current = function.__name__
        function()

    groups[function.__name__] = run
    return function


def say(what, *seen):
    text = " ".join(str(value) for value in seen)
    print(f"{_current}: {what}: {text}", flush=True)


def outcome(call, *arguments, **named):
    """The result, `ok` for None, or the name of the error."""
    try:
        value = call(*arguments, **named)
    except OSError as error:
        return errno.errorcode.get(error.errno, error.errno)
    return "ok" if value is None else value


def tried(what, call, *arguments, **named):
    say(what, outcome(call, *arguments, **named))


@contextlib.contextmanager
def opened(name, flags=os.O_RDONLY, mode=0o644):
    descriptor = os.open(name, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_open(name, flags, mode=0o644):
    """Opens and closes a file."""
    with opened(name, flags, mode):
        pass


def put(name, content=b"", mode=0o644):
    with opened(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode) as descriptor:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left):]
        os.fchmod(descriptor, mode)


def get(name):
    with open(name, "rb") as file:
        return file.read()


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]


def listed(folder="."):
    """The names in `folder`. An NFS client renames removed files that are open: their names are shown as `.nfs`."""
    return sorted(".nfs" if name.startswith(".nfs") else name for name in os.listdir(folder))


def closed(folder="."):
    """The names in `folder` once the client has removed its `.nfs` files, some time after the last close."""
    end = time.monotonic() + 20
    while ".nfs" in listed(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return listed(folder)


def kind(mode):
    return stat.filemode(mode)[0]


def mode_of(name):
    return f"{stat.S_IMODE(os.lstat(name).st_mode):04o}"


def described(name):
    """Kind, mode, link count, owner, and the size if it is the same on all file systems."""
    s = os.lstat(name)
    size = f" size {s.st_size}" if not stat.S_ISDIR(s.st_mode) else ""
    return f"{kind(s.st_mode)}{stat.S_IMODE(s.st_mode):04o} links {s.st_nlink} owner {s.st_uid}:{s.st_gid}{size}"


def as_user(user, call, *arguments, **named):
    """The outcome of a call by a child process that is USER: (uid, gid, other groups)."""
    uid, gid, others = user
    sys.stdout.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(others)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            text = str(outcome(call, *arguments, **named))
        except BaseException as error:  # pylint: disable=broad-except
            text = repr(error)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text


def user_tried(what, user, call, *arguments, **named):
    say(what, as_user(user, call, *arguments, **named))


# The users of the checks besides root.
ANNA = (1000, 1000, [])
BERT = (1001, 1001, [])
# Carl has 16 groups, as many as AUTH_SYS carries. The last one is Anna's group.
CARL = (1002, 1002, list(range(2000, 2015)) + [1000])
