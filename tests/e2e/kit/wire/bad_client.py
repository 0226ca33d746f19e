# SPDX-License-Identifier: BSD-3-Clause
"""A small NFS client with the fault FAULT: bad_client.py FAULT HOST:PORT FOLDER

It copies the files of the export /memory to FOLDER and writes to one of them. Exit status 0: done; 1: the server's
results are wrong, or the connection ended."""
import os
import signal
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# pylint: disable=wrong-import-position
from kit.wire import rpc  # noqa: E402
from kit.wire.chunked import OverIwarp  # noqa: E402
from kit.wire.iwarp import READ_REQUEST, SEND, SEND_INVALIDATE, WRITE  # noqa: E402

FAULT = sys.argv[1] if len(sys.argv) > 1 else "none"
LARGEST = 16384  # of a READ
REGULAR = 1


class WrongResults(Exception):
    """The server's results contradict themselves."""


class Client(OverIwarp):
    def __init__(self, address):
        super().__init__(address)
        self.handle = 0x100

    def results_of(self, xid):
        """The results in the reply to `xid`. Other messages are discarded."""
        while True:
            got = self.receive_opcode(WRITE, READ_REQUEST, SEND, SEND_INVALIDATE)
            if got.opcode == WRITE:
                self._take(got)
            elif got.opcode == READ_REQUEST:
                self._give(got)
            elif len(got.payload) >= 28:
                words, body = struct.unpack_from(">IIII", got.payload), got.payload[16:]
                if words[:2] == (xid, 1) and words[3] == rpc.MSG:
                    return self.results_in(body)
                self.discard(words)

    def discard(self, words):
        if FAULT == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if FAULT == "rdma-error":
            self.send(rpc.header(words[0], rpc.ERROR, struct.pack(">I", rpc.ERR_CHUNK)))

    @staticmethod
    def results_in(body):
        """Returns the results: skips the chunk lists, which have at most one Write chunk, and the RPC header."""
        at = 8
        if struct.unpack_from(">I", body, 4)[0]:
            at += 4 + 16 * struct.unpack_from(">I", body, 8)[0] + 4
        return body[at + 4 + 24:]

    def call(self, program, procedure, arguments=b"", reads=bytes(4), writes=bytes(4)):
        xid = self.next_xid()
        message = rpc.header(xid, chunks=reads + writes + bytes(4)) + rpc.call(xid, program, procedure=procedure, arguments=arguments)
        self.send(message)
        results = self.results_of(xid)
        if not FAULT == "keeps-memory":
            self.memory.clear()
        return results

    def exposed(self, octets, readable):
        """Exposes memory with these contents, under the next handle unless FAULT is same-handle."""
        self.handle += 0 if FAULT == "same-handle" else 1
        return self.expose(self.handle, 2**64 - 16 if FAULT == "wrapping-memory" else 0x10000, octets, readable)

    def root(self):
        results = self.call(rpc.MOUNT, 1, rpc.opaque(b"/memory"))
        return results[8:8 + struct.unpack_from(">I", results, 4)[0]]

    def listing(self, directory):
        """(name, type, handle) of the entries."""
        results = self.call(rpc.NFS, rpc.READDIRPLUS, rpc.opaque(directory) + bytes(16) + struct.pack(">II", 3000, 3000))
        at = 4 + 4 + 84 + 8
        while struct.unpack_from(">I", results, at)[0]:
            size = struct.unpack_from(">I", results, at + 12)[0]
            name = results[at + 16:at + 16 + size]
            at += 16 + (size + 3) // 4 * 4 + 8 + 4
            kind, length = struct.unpack_from(">I", results, at)[0], struct.unpack_from(">I", results, at + 84 + 4)[0]
            yield name, kind, results[at + 92:at + 92 + length]
            at += 92 + (length + 3) // 4 * 4

    def read_file(self, file, offset):
        """The data at `offset`, and whether the file ends with it."""
        memory = self.exposed(bytes(LARGEST), False)
        results = self.call(rpc.NFS, rpc.READ, rpc.opaque(file) + struct.pack(">QI", offset, LARGEST),
                            writes=rpc.write_list([memory.segment()]))
        count, eof, length = struct.unpack_from(">III", results, 4 + 4 + 84)
        if FAULT != "obeys-count" and count != length:
            raise WrongResults(f"{count} of {length} bytes")
        return bytes(memory.octets[:count]), bool(eof)

    def download(self, file, path):
        contents, eof = b"", False
        while not eof:
            data, eof = self.read_file(file, len(contents))
            contents += data
            eof = eof or (FAULT == "obeys-count" and not data)
        Path(path).write_bytes(contents)

    def upload(self, file, contents):
        memory = self.exposed(contents, True)
        arguments = rpc.opaque(file) + struct.pack(">QIII", 0, len(contents), 2, len(contents))
        position = len(rpc.call(0, arguments=arguments))
        self.call(rpc.NFS, rpc.WRITE, arguments, reads=rpc.read_list((position, memory.segment())))

    def null(self, arguments):
        self.send(rpc.header(self.next_xid()) + rpc.call(self.xid, arguments=bytes(arguments)))
        self.results_of(self.xid)

    def misbehave(self, root):
        getattr_arguments = rpc.opaque(root)
        if FAULT == "msgp":
            self.send(rpc.header(1, rpc.MSGP))
        if FAULT == "long-message":
            self.null(5000)
        if FAULT == "largest-message" and os.environ["RPCRDMA_CONFORM_CASE"] == "private-data/largest-sizes":
            self.null(250000)
        if FAULT == "half-a-call":
            self.send(rpc.header(self.next_xid()) + rpc.call(self.xid)[:12])
        if FAULT == "not-eligible":
            self.call(rpc.NFS, rpc.GETATTR, getattr_arguments, writes=rpc.write_list([self.exposed(bytes(100), False).segment()]))
        if FAULT == "many-calls":
            for _ in range(60):
                self.send(rpc.header(self.next_xid()) + rpc.call(self.xid, procedure=rpc.GETATTR, arguments=getattr_arguments))
            self.results_of(self.xid)
        if FAULT == "small-write-chunk":
            self.call(rpc.NFS, rpc.READ, rpc.opaque(root) + struct.pack(">QI", 0, 5000),
                      writes=rpc.write_list([self.exposed(bytes(100), False).segment()]))


def main(address, folder):
    with Client(address) as client:
        if FAULT == "two-at-once":
            for _ in range(2):
                client.send(rpc.header(client.next_xid()) + rpc.call(client.xid))
            client.results_of(client.xid)
        root = client.root()
        client.misbehave(root)
        files = {name: handle for name, kind, handle in client.listing(root) if kind == REGULAR}
        for name, handle in files.items():
            if FAULT == "obeys-names" or (b"/" not in name and b"\0" not in name and name not in (b"", b".", b"..")):
                client.download(handle, Path(folder) / os.fsdecode(name))
        client.upload(files[b"odd"], b"w" * 5000)
        for _ in range(3):
            client.call(rpc.NFS, rpc.GETATTR, rpc.opaque(root))


if __name__ == "__main__":
    while True:
        try:
            main(*sys.argv[2:])
            sys.exit(0)
        except (AssertionError, OSError, WrongResults, struct.error) as failed:
            print(f"{type(failed).__name__}: {failed}")
            if FAULT != "reconnects":
                sys.exit(1)
