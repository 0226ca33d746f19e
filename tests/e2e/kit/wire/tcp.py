# SPDX-License-Identifier: BSD-3-Clause
"""A peer that speaks RPC over TCP with record marking (RFC 5531 section 11) and can send any bytes."""
import socket
import struct

from kit.waiting import DEADLINE_S
from kit.wire.rpc import SUCCESS, RpcPeer, call

LAST = 0x80000000


def record(octets):
    return struct.pack(">I", LAST | len(octets)) + octets


class TcpPeer:
    """`source` is a local (host, port) to call from."""

    def __init__(self, address, source=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host.strip("[]"), int(port)), DEADLINE_S, source_address=source)
        self.xid = 0x7C500000

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def receive(self, count):
        octets = b""
        while len(octets) < count:
            more = self.socket.recv(count - len(octets))
            if not more:
                raise EOFError(f"the connection ended after {octets.hex()}")
            octets += more
        return octets

    def ended(self):
        """Waits for data or the end of the connection; returns whether it ended. Reads no data."""
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except ConnectionResetError:
            return True

    def reply(self):
        octets, last = b"", False
        while not last:
            word = struct.unpack(">I", self.receive(4))[0]
            last = bool(word & LAST)
            octets += self.receive(word & ~LAST)
        return octets

    def results(self, program, version, procedure, arguments=b"", **keywords):
        """Makes a call that must succeed; returns its results."""
        self.xid += 1
        self.socket.sendall(record(call(self.xid, program, version, procedure, arguments, **keywords)))
        body = self.reply()
        if struct.unpack_from(">IIIIII", body) != (self.xid, 1, 0, 0, 0, SUCCESS):
            raise AssertionError(f"not a success: {body.hex()}")
        return body[24:]

    null, mount, lookup = RpcPeer.null, RpcPeer.mount, RpcPeer.lookup
