# SPDX-License-Identifier: BSD-3-Clause
"""chmod, chown, and their effect on the set-id and sticky bits."""
import mmap
import os

from kit import ANNA, BERT, CARL, as_user, described, group, mode_of, opened, put, say, tried, user_tried


@group
def chmod():
    put("file")
    os.mkdir("folder")
    for mode in (0, 0o777, 0o1000, 0o2000, 0o4000, 0o6755, 0o7777, 0o644):
        os.chmod("file", mode)
        os.chmod("folder", mode)
        say(f"{mode:04o}", mode_of("file"), mode_of("folder"))
    tried("of nothing", os.chmod, "missing", 0)
    os.chown("file", *ANNA[:2])
    for who, user in (("owner", ANNA), ("other", BERT), ("in the group", CARL)):
        user_tried(f"by the {who}", user, os.chmod, "file", 0o640)
    # A user may set the set-group-id bit only as a member of the group.
    os.chown("file", 1000, 1001)
    for mode in (0o2755, 0o4755, 0o6755, 0o2644, 0o1644):
        user_tried(f"{mode:04o} by an owner who is not in the group", ANNA, os.chmod, "file", mode)
        say("now", mode_of("file"))
    os.chown("folder", 1000, 1001)
    user_tried("the same on a folder", ANNA, os.chmod, "folder", 0o7755)
    say("now", mode_of("folder"))
    user_tried("by a member", (1000, 1000, [1001]), os.chmod, "folder", 0o7755)
    say("now", mode_of("folder"))


@group
def chown():
    os.umask(0)
    put("file", mode=0o644)
    os.symlink("file", "link")
    for owner in ((1000, 1000), (-1, 1001), (1001, -1), (-1, -1), (2**31, 2**31 + 1), (2**32 - 2, 2**32 - 2), (0, 0)):
        tried(f"to {owner}", os.chown, "file", *owner)
        say("now", described("file"))
    tried("by a link", os.chown, "link", 7, 8)
    tried("the link itself", os.lchown, "link", 9, 10)
    say("now", described("file"), described("link"))
    os.chown("file", 1000, 1000)
    member = (1000, 1000, [1005, 1006])
    for what, user, owner in (
            ("the owner sets another owner", ANNA, (1001, -1)), ("to another group", ANNA, (-1, 1001)),
            ("to its group", ANNA, (-1, 1000)), ("to itself", ANNA, (1000, -1)),
            ("with both ids -1", ANNA, (-1, -1)), ("to one of its groups", member, (-1, 1006)),
            ("to itself and another of its groups", member, (1000, 1005)),
            ("another to itself", BERT, (1001, 1001)), ("another, both ids -1", BERT, (-1, -1)),
            ("another to its group", BERT, (-1, 1001))):
        user_tried(what, user, os.chown, "file", *owner)
        say("now", described("file"))


def append_to(name):
    with opened(name, os.O_WRONLY | os.O_APPEND) as file:
        os.write(file, b"x")
        os.fsync(file)


def map_into(name):
    with opened(name, os.O_RDWR) as file, mmap.mmap(file, 0) as memory:
        memory[0] = 65
        memory.flush()


def read_from(name):
    with opened(name) as file:
        os.read(file, 1)


@group
def set_id_bits():
    """Which operations clear the set-id bits, for which user."""
    os.chmod(".", 0o777)
    changes = (("write", append_to, ()), ("write by a map", map_into, ()), ("read", read_from, ()),
               ("truncate", os.truncate, (3,)), ("truncate to the same", os.truncate, (7,)),
               ("chown", os.chown, (1000, 1000)), ("chown with both ids -1", os.chown, (-1, -1)),
               ("chgrp", os.chown, (-1, 1005)),
               ("times", os.utime, ()), ("link", lambda name: (os.link(name, "x"), os.unlink("x")) and None, ()))
    for who, user in (("root", (0, 0, [])), ("owner", (1000, 1000, [1005])), ("other", BERT)):
        for what, call, arguments in changes:
            for mode in (0o6777, 0o6767):
                put("file", b"content")
                os.chown("file", 1000, 1000)
                os.chmod("file", mode)
                done = as_user(user, call, "file", *arguments)
                say(f"{mode:04o}, {what} by {who}", done, mode_of("file"))


@group
def set_group_folders():
    os.umask(0o022)
    os.mkdir("folder")
    os.chown("folder", 1000, 1005)
    os.chmod("folder", 0o2777)
    put("folder/by_root")
    os.mkdir("folder/sub_by_root")
    member = (1000, 1000, [1005])
    for who, user in (("stranger", BERT), ("member", member)):
        say(who, as_user(user, put, f"folder/{who}"), as_user(user, os.mkdir, f"folder/sub_{who}"),
            as_user(user, os.symlink, "x", f"folder/link_{who}"),
            as_user(user, os.mkfifo, f"folder/fifo_{who}"), as_user(user, try_set_group, f"folder/set_{who}"))
    for name in sorted(os.listdir("folder")):
        say(name, described(f"folder/{name}"))
    os.mkdir("folder/sub_by_root/deeper", 0o700)
    say("deeper", described("folder/sub_by_root/deeper"))


def try_set_group(name):
    """Creates a file and a folder, with modes that have set-id bits."""
    os.umask(0)
    with opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o6775):
        pass
    os.mkdir(name + "_folder", 0o6775)
