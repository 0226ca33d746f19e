# SPDX-License-Identifier: BSD-3-Clause
"""RPC-over-RDMA headers (RFC 8166 section 4) and RPC calls (RFC 5531) by hand, and a peer that sends them."""
import struct

from kit.wire.iwarp import SEND, SEND_INVALIDATE
from kit.wire.peer import Peer

MSG, NOMSG, MSGP, DONE, ERROR = range(5)
ERR_VERS, ERR_CHUNK = 1, 2
NFS, MOUNT = 100003, 100005
GETATTR, SETATTR, LOOKUP, ACCESS, READLINK, READ, WRITE, CREATE, MKDIR, SYMLINK, MKNOD = range(1, 12)
REMOVE, RMDIR, RENAME, LINK, READDIR, READDIRPLUS, FSSTAT, FSINFO, PATHCONF, COMMIT = range(12, 22)
SUCCESS, PROG_UNAVAIL, PROG_MISMATCH, PROC_UNAVAIL, GARBAGE_ARGS = range(5)


def opaque(octets):
    return struct.pack(">I", len(octets)) + octets + bytes(-len(octets) % 4)


def segment(handle, length, offset):
    return struct.pack(">IIQ", handle, length, offset)


def read_list(*segments):
    """A Read list of (position, segment) pairs."""
    return b"".join(struct.pack(">II", 1, position) + octets for position, octets in segments) + bytes(4)


def write_list(*chunks):
    """A Write list; each chunk is a list of segments."""
    return b"".join(struct.pack(">II", 1, len(chunk)) + b"".join(chunk) for chunk in chunks) + bytes(4)


def reply_chunk(*segments):
    return struct.pack(">II", 1, len(segments)) + b"".join(segments) if segments else bytes(4)


def header(xid, procedure=MSG, chunks=bytes(12), version=1, credits=16):
    return struct.pack(">IIII", xid, version, credits, procedure) + chunks


def call(xid, program=NFS, version=3, procedure=0, arguments=b"", rpc_version=2, uid=0, gid=0, machine=b"e2e"):
    credential = opaque(struct.pack(">I", 0) + opaque(machine) + struct.pack(">III", uid, gid, 0))
    return (struct.pack(">IIIIII", xid, 0, rpc_version, program, version, procedure) +
            struct.pack(">I", 1) + credential + struct.pack(">II", 0, 0) + arguments)


class RpcPeer(Peer):
    """A peer that the constructor connects."""

    def __init__(self, address, source=None, **handshake):
        super().__init__(address, **({"source": source} if source else {}))
        self.handshake(**handshake)
        self.xid = 0x7E570000

    def next_xid(self):
        self.xid += 1
        return self.xid

    def reply_to(self, xid):
        """Receives the answer to `xid`: returns the words of its transport header, and the payload."""
        message = self.receive_opcode(SEND, SEND_INVALIDATE)
        words = struct.unpack_from(">IIII", message.payload)
        if words[0] != xid:
            raise AssertionError(f"received an answer to {words[0]:#x}, expected one to {xid:#x}")
        return words, message.payload[16:]

    def results(self, program, version, procedure, arguments=b""):
        """Makes an inline call that must succeed; returns its results."""
        xid = self.next_xid()
        self.send(header(xid) + call(xid, program, version, procedure, arguments))
        words, body = self.reply_to(xid)
        if words[3] != MSG or body[:12] != bytes(12):
            raise AssertionError(f"not an inline reply: {words} {body.hex()}")
        if struct.unpack_from(">IIIII", body, 16) != (1, 0, 0, 0, SUCCESS):
            raise AssertionError(f"not a success: {body.hex()}")
        return body[12 + 24:]

    def null(self):
        self.results(NFS, 3, 0)

    def mount(self, path):
        """The file handle of an export."""
        results = self.results(MOUNT, 3, 1, opaque(path.encode()))
        status, length = struct.unpack_from(">II", results)
        if status != 0:
            raise AssertionError(f"MNT {path}: {status}")
        return results[8:8 + length]

    def lookup(self, handle, name):
        results = self.results(NFS, 3, LOOKUP, opaque(handle) + opaque(name.encode()))
        status, length = struct.unpack_from(">II", results)
        if status != 0:
            raise AssertionError(f"LOOKUP {name}: {status}")
        return results[8:8 + length]

    def transport_error(self, message, xid):
        """Sends `message`, which must be answered with RDMA_ERROR; returns (version, kind, the words after it)."""
        self.send(message)
        words, body = self.reply_to(xid)
        if words[3] != ERROR:
            raise AssertionError(f"expected RDMA_ERROR, got {words} {body.hex()}")
        kind, *rest = struct.unpack(f">{len(body) // 4}I", body)
        if words[2] < 1:
            raise AssertionError("a grant of 0")
        return words[1], kind, rest
