# SPDX-License-Identifier: BSD-3-Clause
"""A client that keeps a journal of acknowledged requests and of the last request without a reply. The journal tells
which contents the client's directory can have after the server is killed."""
import copy
import os
import struct

from kit.wire import nfs
from kit.wire.rpc import COMMIT, LINK, REMOVE, RMDIR, RpcPeer, opaque

UNSTABLE, DATA_SYNC, FILE_SYNC = range(3)
LARGEST = 6000


class File:
    """The bytes on stable storage, and the unstable writes in order. Each unstable write may or may not have reached
    the disk."""

    def __init__(self, handle):
        self.handle, self.stable, self.loose = handle, b"", []

    def write(self, offset, data):
        grown = self.stable.ljust(offset + len(data), b"\0")
        self.stable = grown[:offset] + data + grown[offset + len(data):]

    def settle(self):
        for offset, data in self.loose:
            self.write(offset, data)
        self.loose = []

    def matches(self, octets):
        """Whether the file may have this content after a crash: each byte must equal that on stable storage or that of
        an unstable write. The size must lie between that on stable storage and that after all unstable writes."""
        latest = copy.copy(self)
        latest.loose = list(self.loose)
        latest.settle()
        if not len(self.stable) <= len(octets) <= len(latest.stable):
            return False
        for index, octet in enumerate(octets):
            may_be = {self.stable[index] if index < len(self.stable) else 0}
            may_be |= {data[index - offset] for offset, data in self.loose if offset <= index < offset + len(data)}
            if octet not in may_be:
                return False
        return True


class Link(str):
    """A symbolic link's target."""


class Folder:
    pass


def untouched(path, flags):
    """Opens a file without changing its access time, which holds the verifier of an EXCLUSIVE create."""
    return os.open(path, flags | os.O_NOATIME)


def on_disk(path):
    """The contents of a directory: name to bytes, Link or Folder."""
    found = {}
    for entry in os.scandir(path):
        if entry.is_symlink():
            found[entry.name] = Link(os.readlink(entry.path))
        elif entry.is_dir():
            found[entry.name] = Folder()
        else:
            with open(entry.path, "rb", opener=untouched) as file:
                found[entry.name] = file.read()
    return found


def same(expected, actual):
    if set(expected) != set(actual):
        return False
    for name, entry in expected.items():
        found = actual[name]
        if isinstance(entry, File):
            if not isinstance(found, bytes) or not entry.matches(found):
                return False
        elif type(found) is not type(entry) or (isinstance(entry, Link) and found != entry):
            return False
    return True


class Journal:
    """One client with one folder of its own, named by `handle` in the export and by `path` on the disk."""

    def __init__(self, random, handle, path):
        self.random, self.handle, self.path = random, handle, path
        self.names, self.pending, self.acknowledged = {}, None, 0
        self.verifier, self.peer, self.counter = None, None, 0
        self.unanswered = None  # an EXCLUSIVE create without a reply, to be sent again

    def connect(self, address):
        self.peer = RpcPeer(address)

    def fresh(self):
        self.counter += 1
        return f"n{self.counter}"

    def pick(self, kind):
        names = [name for name, entry in self.names.items() if isinstance(entry, kind)]
        return self.random.choice(names) if names else None

    def perform(self, request, change):
        """Sends a request; applies `change` to the journal's names when the server has acknowledged it."""
        self.pending = change
        status, rest = nfs.ask(self.peer, *request)
        if status != nfs.OK:
            raise AssertionError(f"{self.path}: procedure {request[0]} answered {status}")
        change(self.names, rest)
        self.pending = None
        self.acknowledged += 1
        return rest

    # The methods that work() calls. Each makes one request (link() makes two), or none if it picks no suitable object.

    def create(self):
        name = self.fresh()

        def change(names, rest):
            names[name] = File(nfs.handle_of_new(rest) if rest else None)

        if self.random.random() < 0.5:
            self.perform(nfs.create(self.handle, name.encode(), nfs.GUARDED), change)
        else:
            self.unanswered = name, change
            self.perform(nfs.create(self.handle, name.encode(), nfs.EXCLUSIVE), change)
            self.unanswered = None

    def write(self):
        name = self.pick(File)
        if name is None:
            return
        data = self.random.randbytes(self.random.randint(1, 1500))
        offset = self.random.randint(0, LARGEST - len(data))
        stable = self.random.choice((UNSTABLE, UNSTABLE, DATA_SYNC, FILE_SYNC))

        def change(names, rest):
            file = names[name]
            file.loose.append((offset, data))
            if rest and self.committed(rest) >= DATA_SYNC:
                # A stable write does not make earlier unstable ones stable, except where it overwrites them.
                file.loose.pop()
                file.write(offset, data)
                file.loose = [part for loose in file.loose for part in outside(offset, len(data), loose)]

        self.perform(nfs.write(self.names[name].handle, data, offset, stable), change)

    def committed(self, rest):
        rest = after_wcc(rest)
        count, committed = struct.unpack_from(">II", rest)
        self.see(rest[8:16])
        if count == 0:
            raise AssertionError("nothing was written")
        return committed

    def see(self, verifier):
        if self.verifier not in (None, verifier):
            raise AssertionError("the write verifier changed though the server was not restarted")
        self.verifier = verifier

    def commit(self):
        name = self.pick(File)
        if name is None:
            return

        def change(names, rest):
            if rest:
                self.see(after_wcc(rest)[:8])
                names[name].settle()

        self.perform((COMMIT, opaque(self.names[name].handle) + struct.pack(">QI", 0, 0)), change)

    def cut(self):
        name = self.pick(File)
        if name is None or self.names[name].loose:
            return
        size = self.random.randint(0, LARGEST)

        def change(names, _):
            names[name].stable = names[name].stable[:size].ljust(size, b"\0")

        self.perform(nfs.setattr_(self.names[name].handle, nfs.size_of(size)), change)

    def rename(self):
        old, new = self.pick((File, Link, Folder)), self.fresh()
        if old is None:
            return
        target = self.pick(type(self.names[old])) if self.random.random() < 0.3 else new

        def change(names, _):
            # Between two names of one file RENAME does nothing (RFC 1813 section 3.3.14).
            if names[old] is not names.get(target):
                names[target] = names.pop(old)

        if target != old:
            self.perform(nfs.rename(self.handle, old.encode(), self.handle, target.encode()), change)

    def remove(self):
        name = self.pick((File, Link, Folder)) if len(self.names) > 12 else None
        if name is not None:
            procedure = RMDIR if isinstance(self.names[name], Folder) else REMOVE
            self.perform((procedure, nfs.place(self.handle, name.encode())), lambda names, _: names.pop(name))

    def link(self):
        """Links another name to a file, then removes the first name: two requests."""
        old, new = self.pick(File), self.fresh()
        if old is None:
            return
        self.perform((LINK, opaque(self.names[old].handle) + nfs.place(self.handle, new.encode())),
                     lambda names, _: names.update({new: names[old]}))
        self.perform((REMOVE, nfs.place(self.handle, old.encode())), lambda names, _: names.pop(old))

    def folder(self):
        name = self.fresh()
        self.perform(nfs.mkdir(self.handle, name.encode()), lambda names, _: names.update({name: Folder()}))

    def symlink(self):
        name, target = self.fresh(), f"to-{self.random.randint(0, 1 << 30)}"
        self.perform(nfs.symlink(self.handle, name.encode(), target.encode()),
                     lambda names, _: names.update({name: Link(target)}))

    def work(self):
        """Makes random requests until the connection is lost."""
        asks = (self.create, self.create, self.write, self.write, self.write, self.commit, self.cut, self.rename,
                self.remove, self.remove, self.link, self.folder, self.symlink)
        try:
            while True:
                self.random.choice(asks)()
        except OSError:
            return

    def check(self):
        """After the server was killed: compares the disk with the journal, without and with the pending request, and
        keeps the state that matches. Returns None, or a text about the difference."""
        actual = on_disk(self.path)
        expected = [self.names]
        if self.pending is not None:
            done = copy.deepcopy(self.names)
            self.pending(done, b"")
            expected.append(done)
        for names in expected:
            if same(names, actual):
                self.names, self.pending = names, None
                return None
        return f"{self.path}: acknowledged {sorted(self.names)}, found {sorted(actual)}"

    def recover(self, address):
        """Acts as a client after a restart of the server: sends again an EXCLUSIVE create that got no reply, and
        uncommitted writes with the old handles."""
        before, self.verifier = self.verifier, None
        self.connect(address)
        if self.unanswered is not None:
            name, change = self.unanswered
            self.perform(nfs.create(self.handle, name.encode(), nfs.EXCLUSIVE), change)
            self.unanswered = None
        for name, file in self.names.items():
            if isinstance(file, File):
                file.handle = file.handle or self.peer.lookup(self.handle, name)
                for offset, data in list(file.loose):
                    rest = self.perform(nfs.write(file.handle, data, offset, FILE_SYNC), lambda *_: None)
                    self.committed(rest)
                file.settle()
        if before is not None and self.verifier == before:
            raise AssertionError("the server has the old write verifier after a restart")


def outside(offset, size, loose):
    """The parts of an unstable write that a later write has not overwritten."""
    start, data = loose
    left, right = data[:max(offset - start, 0)], data[max(offset + size - start, 0):]
    return [part for part in ((start, left), (start + len(data) - len(right), right)) if part[1]]


def after_wcc(rest):
    """The bytes that follow a wcc_data."""
    at = 4 + (24 if struct.unpack_from(">I", rest)[0] else 0)
    return rest[at + 4 + (84 if struct.unpack_from(">I", rest, at)[0] else 0):]
