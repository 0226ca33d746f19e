# SPDX-License-Identifier: BSD-3-Clause
"""Reading, writing, truncating and mapping files, and other calls on open files."""
import mmap
import os
import random

from kit import closed, described, digest, get, group, listed, opened, put, say, tried

GIB = 1 << 30
RDWR = os.O_RDWR | os.O_CREAT


def forget(descriptor):
    """Drops the cache: later reads go to the file system."""
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


@group
def read_and_write():
    with opened("file", RDWR) as file:
        say("an empty file", os.pread(file, 10, 0), os.pread(file, 10, 100), os.write(file, b""))
        os.pwrite(file, b"late", 10000)
        say("behind a hole", os.fstat(file).st_size, digest(os.pread(file, 20000, 0)))
        say("at the end, over it, behind it", os.pread(file, 10, 10002), os.pread(file, 10, 10004),
            os.pread(file, 10, 10005))
        os.pwritev(file, [b"one", b"", b"two", b"x" * 5000], 1)
        forget(file)
        say("from several buffers", os.fstat(file).st_size, digest(os.pread(file, 20000, 0)))
        for what, call, arguments in (("pwrite before the start", os.pwrite, (file, b"x", -1)),
                      ("pread before the start", os.pread, (file, 1, -1)),
                                      ("seek before the start", os.lseek, (file, -1, os.SEEK_SET))):
            tried(what, call, *arguments)
        say("seek", os.lseek(file, 5, os.SEEK_SET), os.lseek(file, 5, os.SEEK_CUR), os.lseek(file, -4, os.SEEK_END))
    noise = random.Random(1).randbytes((3 << 20) + 12345)
    put("noise", noise)
    with opened("noise") as file:
        forget(file)
        say("3 MiB and some", digest(get("noise")) == digest(noise))
        say("pieces of it", all(os.pread(file, size, at) == noise[at:at + size]
                                for at, size in (
                                        (0, 1), (4095, 2), (65535, 70001), (1 << 20, 1 << 20), (len(noise) - 7, 100))))


@group
def model():
    """Random writes and truncations, compared with a copy in memory."""
    chance = random.Random(2)
    want = bytearray()
    with opened("file", RDWR) as file:
        for step in range(200):
            at, size = chance.randrange(200000), chance.randrange(1, 9000)
            if chance.random() < 0.1:
                os.ftruncate(file, at)
                want = want[:at] + bytes(max(0, at - len(want)))
            else:
                piece = chance.randbytes(size)
                os.pwrite(file, piece, at)
                want += bytes(max(0, at - len(want)))
                want[at:at + size] = piece
            if step % 50 == 49:
                forget(file)
                say(f"after {step + 1} steps", os.fstat(file).st_size == len(want), get("file") == bytes(want))


@group
def direct():
    buffer = mmap.mmap(-1, 65536)
    buffer.write(random.Random(3).randbytes(65536))
    with opened("file", RDWR | os.O_DIRECT) as file:
        say("written past the cache", os.pwritev(file, [buffer], 0), os.pwritev(file, [buffer], 1 << 20))
        back = mmap.mmap(-1, 65536)
        say("read", os.preadv(file, [back], 1 << 20), back[:] == buffer[:], os.preadv(file, [back], 4 << 20))
        with opened("file", os.O_RDWR) as other:
            os.pwrite(other, b"other", 4096)
            say("what another wrote", os.preadv(file, [back], 0), back[4096:4101])
            os.pwritev(file, [buffer], 4096)
            say("and the other sees", os.pread(other, 65536, 4096) == buffer[:])


@group
def sparse():
    with opened("far", RDWR) as file:
        for at in (4 * GIB - 3, 5 * GIB + 1, 1 << 40):
            os.pwrite(file, b"marker", at)
            forget(file)
            s = os.fstat(file)
            say(f"written at {at}", s.st_size, os.pread(file, 12, at - 3), "few blocks:", s.st_blocks * 512 < 1 << 20)
        say("data", os.lseek(file, 0, os.SEEK_END), os.lseek(file, (1 << 40) + 1, os.SEEK_DATA) == (1 << 40) + 1)
        say("the hole at the end", os.lseek(file, 1 << 40, os.SEEK_HOLE) >= (1 << 40) + 6)
        tried("data behind the end", os.lseek, file, 1 << 41, os.SEEK_DATA)
        os.ftruncate(file, 8 * GIB)
        say("cut to 8 GiB", os.fstat(file).st_size, os.pread(file, 4, 8 * GIB - 2), os.pread(file, 6, 5 * GIB + 1))
    for power in (43, 44, 50, 62):
        with opened(f"huge{power}", RDWR) as file:
            tried(f"truncate to 2^{power}", os.ftruncate, file, 1 << power)
            tried(f"pwrite at 2^{power}", os.pwrite, file, b"x", 1 << power)
            tried("and fsync", os.fsync, file)
            say("size", os.fstat(file).st_size)
    tried("truncate to 2^63-1", os.truncate, "far", (1 << 63) - 1)


@group
def truncate():
    put("file", b"0123456789")
    for size in (5, 5, 8, 0, 4097, 1):
        tried(f"to {size}", os.truncate, "file", size)
        say("now", os.stat("file").st_size, digest(get("file")))
    os.mkdir("folder")
    os.symlink("file", "link")
    for what, name, size in (
            ("a folder", "folder", 0), ("below zero", "file", -1), ("nothing", "missing", 0), ("a link", "link", 3),
                             ("under a file", "file/x", 0)):
        tried(what, os.truncate, name, size)
    with opened("file") as file:
        tried("what is open to read", os.ftruncate, file, 0)
    with opened("file", os.O_WRONLY) as file:
        os.pwrite(file, b"abcdefgh", 0)
        os.ftruncate(file, 4)
        os.ftruncate(file, 8)
        say("cut and let out", get("file"))
    say("at last", described("file"))


@group
def unlinked():
    put("file", b"before ")
    with opened("file", os.O_RDWR | os.O_APPEND) as file:
        os.unlink("file")
        say("the name", os.path.exists("file"))
        say("read", os.pread(file, 100, 0))
        os.write(file, b"after")
        forget(file)
        say("written", os.pread(file, 100, 0), os.fstat(file).st_size)
        os.ftruncate(file, 3)
        os.fchmod(file, 0o600)
        say("cut", os.pread(file, 100, 0), f"{os.fstat(file).st_mode:o}")
        put("file", b"a new one")
        say("a new file of that name", get("file"), os.pread(file, 100, 0))
    say("left", *closed())
    put("old", b"old")
    put("new", b"new")
    with opened("old", os.O_RDWR) as file:
        os.rename("new", "old")
        os.pwrite(file, b"OLD", 0)
        forget(file)
        say("replaced by a rename", os.pread(file, 10, 0), get("old"))
    say("left", *closed())
    os.link("old", "second")
    with opened("old", os.O_RDWR) as file:
        os.unlink("old")
        os.pwrite(file, b"via", 0)
        os.fsync(file)
        say("one name of two", get("second"), os.fstat(file).st_nlink, listed())
    say("left", *closed())


@group
def mapped():
    put("file", bytes(10000))
    with opened("file", os.O_RDWR) as file:
        with mmap.mmap(file, 10000) as memory:
            memory[4090:4100] = b"in a mapped"[:10]
            memory.flush()
            say("written through memory", os.pread(file, 10, 4090))
            os.pwrite(file, b"by pwrite", 100)
            say("seen in memory", memory[100:109])
        forget(file)
        say("on the server", digest(get("file")))
        with mmap.mmap(file, 0, flags=mmap.MAP_PRIVATE) as memory:
            memory[0:5] = b"mine!"
            say("a private map", memory[0:5], os.pread(file, 5, 0))
    with opened("hole", RDWR) as file:
        os.ftruncate(file, 1 << 20)
        with mmap.mmap(file, 0) as memory:
            memory[(1 << 20) - 1] = 65
        forget(file)
        say("the last octet of a hole", os.fstat(file).st_size, os.pread(file, 2, (1 << 20) - 2))


@group
def other_calls():
    put("file", b"content" * 1000)
    with opened("file", os.O_RDWR) as file:
        for what, call, arguments in (("fsync", os.fsync, (file,)), ("fdatasync", os.fdatasync, (file,)),
                                      ("posix_fallocate", os.posix_fallocate, (file, 0, 9000)),
                                      ("lockf", os.lockf, (file, os.F_TLOCK, 10))):
            tried(what, call, *arguments)
        say("size", os.fstat(file).st_size)
        with opened("copy", RDWR) as copy:
            tried("copy_file_range", os.copy_file_range, file, copy, 5000, 7, 0)
            tried("sendfile", os.sendfile, copy, file, 0, 2000)
        say("copied", os.stat("copy").st_size, digest(get("copy")))
    with opened(".") as folder:
        tried("fsync of a folder", os.fsync, folder)
    tried("extended attribute", os.setxattr, "file", "user.name", b"value")
