# SPDX-License-Identifier: BSD-3-Clause
"""Permissions, as several users."""
import os
import shutil
import subprocess

from kit import ANNA, BERT, CARL, as_user, described, get, group, opened, put, say, try_open, user_tried

ROOT = (0, 0, [])
# More groups than the 16 that AUTH_SYS carries.
TOO_MANY = (1003, 1003, list(range(2000, 2020)) + [2999])
WHO = (("root", ROOT), ("owner", ANNA), ("16th group", CARL), ("other", BERT))


def opens(name):
    """Which ways of opening the file `name` are permitted."""
    def letter(text, flags):
        try:
            try_open(name, flags)
        except PermissionError:
            return "-"
        return text
    return letter("r", os.O_RDONLY) + letter("w", os.O_WRONLY) + letter("b", os.O_RDWR)


def allowed(name):
    return "".join(text if os.access(name, right) else "-" for text,
                   right in (("r", os.R_OK), ("w", os.W_OK), ("x", os.X_OK)))


@group
def file_permissions():
    put("file", b"content")
    os.chown("file", 1000, 1000)
    for mode in (0o000, 0o700, 0o070, 0o007, 0o644, 0o600, 0o060, 0o006, 0o604, 0o444, 0o222, 0o111, 0o311, 0o077):
        os.chmod("file", mode)
        say(f"{mode:03o} open, access",
            *(f"{who} {as_user(user, opens, 'file')} {as_user(user, allowed, 'file')}" for who, user in WHO))


def move_about(name):
    os.rename(name, name + "2")
    os.rename(name + "2", name)


def write_in(name):
    with opened(name, os.O_WRONLY) as file:
        os.write(file, b"x")


def uses(name):
    """Which uses of the folder `name` are permitted: listing it, accessing a file in it, changing it."""
    def letter(text, call, *arguments):
        try:
            call(*arguments)
        except PermissionError:
            return "-"
        return text
    return (letter("l", os.listdir, name) + letter("s", os.stat, f"{name}/inner") + letter("r", get, f"{name}/inner") +
            letter("m", move_about, f"{name}/inner") + letter("n",
                                                              lambda: (os.mkdir(f"{name}/new"),
                                                                       os.rmdir(f"{name}/new"))))


@group
def folder_permissions():
    os.mkdir("folder")
    put("folder/inner", b"content")
    os.chown("folder", 1000, 1000)
    for mode in (0o000, 0o700, 0o070, 0o007, 0o755, 0o711, 0o744, 0o733, 0o722, 0o555, 0o333, 0o111):
        os.chmod("folder", mode)
        say(f"{mode:03o}",
            *(f"{who} {as_user(user, uses, 'folder')} {as_user(user, allowed, 'folder')}" for who, user in WHO))


@group
def many_groups():
    put("file", mode=0o640)
    for number in (2000, 2014, 2015, 2016, 2019, 2999, 1003, 1004):
        os.chown("file", 0, number)
        say(number, as_user(TOO_MANY, opens, "file"), as_user((1003, 1003, [2000, number]), opens, "file"))


@group
def sticky():
    os.mkdir("public")
    os.chown("public", 1002, 1002)
    os.chmod("public", 0o1777)
    mover = (("root", ROOT), ("owner of the folder", (1002, 1002, [])), ("owner of the file", ANNA), ("other", BERT))
    for who, user in mover:
        for what, call, arguments in (
                ("unlink", os.unlink, ("public/file",)), ("rename", os.rename, ("public/file", "public/moved")),
                                      ("rename over", os.rename, ("public/mine", "public/file")),
                                      ("rmdir", os.rmdir, ("public/folder",)),
                                      ("write", write_in, ("public/file",)),
                                      ("O_CREAT", try_open, ("public/file", os.O_WRONLY | os.O_CREAT))):
            as_user(ANNA, put, "public/file", b"", 0o666)
            as_user(ANNA, os.mkdir, "public/folder")
            as_user(user, put, "public/mine")
            user_tried(f"{what} by {who}", user, call, *arguments)
            for name in os.listdir("public"):
                (os.rmdir if name == "folder" else os.unlink)(f"public/{name}")


@group
def ownership():
    os.chmod(".", 0o777)
    for who, user in (("anna", ANNA), ("carl", CARL)):
        for what, call, arguments in (("file", put, ()), ("folder", os.mkdir, ()), ("fifo", os.mkfifo, ())):
            as_user(user, call, f"{who}_{what}", *arguments)
            say(f"{what} of {who}", described(f"{who}_{what}"))
        as_user(user, os.symlink, "x", f"{who}_link")
        say(f"link of {who}", described(f"{who}_link"))
    user_tried("anna's, by bert", BERT, os.unlink, "anna_file")
    os.chmod(".", 0o755)
    user_tried("in a folder not hers", ANNA, put, "new")
    user_tried("a link to a file not hers", ANNA, os.link, "carl_file", "x")


def keeps(name):
    """Continues to use an open file after all permissions to open it were removed."""
    with opened(name, os.O_RDWR) as file:
        os.chmod(name, 0)
        os.pwrite(file, b"on", 0)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.pread(file, 9, 0), os.ftruncate(file, 1), opens(name)


def runs(name):
    return subprocess.run([f"./{name}"], check=False, stdout=subprocess.DEVNULL).returncode


@group
def open_files():
    put("file", b"to go")
    os.chown("file", 1000, 1000)
    user_tried("the owner goes on", ANNA, keeps, "file")
    os.chmod("file", 0o644)
    read_end = os.open("file", os.O_RDONLY)
    os.chmod("file", 0)
    user_tried("a descriptor that root opened", BERT, os.pread, read_end, 9, 0)
    os.close(read_end)
    shutil.copy("/bin/true", "program")
    for mode in (0o755, 0o711, 0o700, 0o644, 0o111):
        os.chmod("program", mode)
        say(f"run, mode {mode:03o}", *(f"{who} {as_user(user, runs, 'program')}" for who, user in WHO))
