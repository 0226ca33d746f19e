# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of the NFSv3 procedures (RFC 1813 section 3.3), for peers that send arbitrary calls."""
import struct

from kit.wire.rpc import (ACCESS, COMMIT, CREATE, FSINFO, FSSTAT, GETATTR, LINK, LOOKUP, MKDIR, MKNOD, NFS, PATHCONF, READ,
                     READDIR, READDIRPLUS, READLINK, REMOVE, RENAME, RMDIR, SETATTR, SYMLINK, WRITE, opaque)

OK, NOENT, ACCES, EXIST, NOTDIR, ISDIR, INVAL, NAMETOOLONG, STALE, BADHANDLE = 0, 2, 13, 17, 20, 21, 22, 63, 70, 10001
UNCHECKED, GUARDED, EXCLUSIVE = range(3)
KEEP = bytes(24)  # sattr3 that sets nothing
FIFO = 7


def size_of(size):
    """sattr3 that sets the size."""
    return bytes(12) + struct.pack(">IQ", 1, size) + bytes(8)


def mode_of(mode):
    """sattr3 that sets the mode."""
    return struct.pack(">II", 1, mode) + bytes(20)


def place(directory, name):
    return opaque(directory) + opaque(name)


def create(directory, name, how=UNCHECKED, attributes=KEEP):
    rest = bytes(8) if how == EXCLUSIVE else attributes
    return CREATE, place(directory, name) + struct.pack(">I", how) + rest


def mkdir(directory, name):
    return MKDIR, place(directory, name) + KEEP


def symlink(directory, name, target):
    return SYMLINK, place(directory, name) + KEEP + opaque(target)


def mknod(directory, name, kind=FIFO):
    return MKNOD, place(directory, name) + struct.pack(">I", kind) + KEEP


def rename(directory, name, to_directory, to_name):
    return RENAME, place(directory, name) + place(to_directory, to_name)


def link(file, directory, name):
    return LINK, opaque(file) + place(directory, name)


def setattr_(handle, attributes):
    return SETATTR, opaque(handle) + attributes + bytes(4)


def read(handle, offset=0, count=100):
    return READ, opaque(handle) + struct.pack(">QI", offset, count)


def write(handle, data, offset=0, stable=2):
    return WRITE, opaque(handle) + struct.pack(">QII", offset, len(data), stable) + opaque(data)


def all_procedures(handle, other):
    """Yields a call with `handle` for each procedure that takes a handle. RENAME and LINK take two: `handle` is the
    first in one call and the second in another; the valid handle `other` takes the remaining place."""
    name = b"name"
    yield GETATTR, opaque(handle)
    yield setattr_(handle, size_of(0))
    yield LOOKUP, place(handle, name)
    yield ACCESS, opaque(handle) + struct.pack(">I", 63)
    yield READLINK, opaque(handle)
    yield read(handle)
    yield write(handle, b"overwritten")
    yield create(handle, name)
    yield mkdir(handle, name)
    yield symlink(handle, name, b"target")
    yield mknod(handle, name)
    yield REMOVE, place(handle, name)
    yield RMDIR, place(handle, name)
    yield rename(handle, name, other, name)
    yield rename(other, name, handle, name)
    yield link(handle, other, name)
    yield link(other, handle, name)
    yield READDIR, opaque(handle) + struct.pack(">Q8sI", 0, bytes(8), 4096)
    yield READDIRPLUS, opaque(handle) + struct.pack(">Q8sII", 0, bytes(8), 4096, 4096)
    yield FSSTAT, opaque(handle)
    yield FSINFO, opaque(handle)
    yield PATHCONF, opaque(handle)
    yield COMMIT, opaque(handle) + struct.pack(">QI", 0, 0)


def ask(peer, procedure, arguments):
    """Makes a call; returns (nfsstat3, the rest of the results)."""
    results = peer.results(NFS, 3, procedure, arguments)
    return struct.unpack_from(">I", results)[0], results[4:]


def handle_of_new(rest):
    """The handle in the results of a procedure that creates an object."""
    follows, length = struct.unpack_from(">II", rest)
    if not follows:
        raise AssertionError("no handle follows")
    return rest[8:8 + length]
