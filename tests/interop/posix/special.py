# SPDX-License-Identifier: BSD-3-Clause
"""FIFOs, sockets, devices, and statistics of the file system."""
import os
import socket
import stat

from kit import ANNA, as_user, described, group, opened, put, say, tried, try_open


@group
def nodes():
    os.umask(0)
    for what, name, mode, device in (
            ("a fifo", "fifo", stat.S_IFIFO | 0o640, 0), ("a socket", "socket", stat.S_IFSOCK | 0o755, 0),
            ("a file", "file", stat.S_IFREG | 0o4711, 0),
            ("a character device", "null", stat.S_IFCHR | 0o666, os.makedev(1, 3)),
            ("a block device", "block", stat.S_IFBLK | 0o600, os.makedev(8, 17)),
            ("large numbers", "large", stat.S_IFCHR | 0o600, os.makedev(4000, 1000000)),
            ("a folder", "folder", stat.S_IFDIR | 0o755, 0),
            ("over a name", "fifo", stat.S_IFIFO | 0o640, 0), ("in nothing", "missing/fifo", stat.S_IFIFO, 0)):
        tried(what, os.mknod, name, mode, device)
        if os.path.lexists(name):
            s = os.lstat(name)
            say("it is", described(name), os.major(s.st_rdev), os.minor(s.st_rdev))
    os.chmod(".", 0o777)
    say("a fifo by a user", as_user(ANNA, os.mkfifo, "anna", 0o600), described("anna"))
    say("a device by a user", as_user(ANNA, os.mknod, "mine", stat.S_IFCHR | 0o666, os.makedev(1, 3)))
    tried("chmod", os.chmod, "null", 0o604)
    tried("chown", os.chown, "fifo", 1000, 1001)
    tried("times", os.utime, "socket", ns=(10**18 + 1, 10**18 + 2))
    say("then", described("null"), described("fifo"), os.lstat("socket").st_mtime_ns)
    tried("rename", os.rename, "null", "zero")
    tried("truncate a fifo", os.truncate, "fifo", 0)
    with opened("zero", os.O_RDWR) as device:
        say("what the device does", os.write(device, b"gone"), os.read(device, 9))


@group
def fifos_and_sockets():
    os.mkfifo("fifo", 0o600)
    tried("to write, without a reader", try_open, "fifo", os.O_WRONLY | os.O_NONBLOCK)
    child = os.fork()
    if child == 0:
        with opened("fifo", os.O_WRONLY) as fifo:
            os.write(fifo, b"through the fifo")
        os._exit(0)
    with opened("fifo") as fifo:
        say("from another process", os.read(fifo, 100), os.read(fifo, 100))
    os.waitpid(child, 0)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        tried("bind", server.bind, "socket")
        server.listen()
        tried("connect", client.connect, "socket")
        client.sendall(b"hello")
        with server.accept()[0] as end:
            say("it says", end.recv(10))
        say("it is", described("socket"))
    with socket.socket(socket.AF_UNIX) as server:
        tried("bind again", server.bind, "socket")
        tried("open", try_open, "socket", os.O_RDONLY)


@group
def numbers():
    s = os.statvfs(".")
    say("sizes", s.f_frsize > 0, s.f_blocks > 0, s.f_bavail <= s.f_bfree <= s.f_blocks, "files",
        0 < s.f_ffree < s.f_files)
    say("longest name", s.f_namemax, os.pathconf(".", "PC_NAME_MAX"), "most links",
        os.pathconf(".", "PC_LINK_MAX") > 1000)
    put("file", bytes(4 << 20))
    with opened("file") as file:
        os.fsync(file)
    after = os.statvfs(".")
    mib = (s.f_bfree * s.f_frsize - after.f_bfree * after.f_frsize) / (1 << 20)
    say("4 MiB less", 3.9 < mib < 4.5, "one file less", s.f_ffree - after.f_ffree)
    here, there = os.stat("."), os.stat("file")
    say("one device", here.st_dev == there.st_dev, "other numbers", here.st_ino != there.st_ino, "blocks",
        there.st_blocks * 512 >> 20)
