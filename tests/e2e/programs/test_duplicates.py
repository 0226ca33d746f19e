# SPDX-License-Identifier: BSD-3-Clause
"""Tests which retransmitted calls count as duplicates. No call is executed twice or gets the reply to another call."""
import socket
import struct

from kit.case import Case
from kit.wire.rpc import MKDIR, MSG, NFS, REMOVE, RpcPeer, call, header, opaque
from kit.wire.tcp import TcpPeer, record

OK, NOENT, EXIST = 0, 2, 17
XID = 0x1D0F00D5
# An address of this machine on which no other process uses ports, so that a released port stays free.
ALONE = "127.77.65.2"


def mkdir(xid, handle, name, uid=0):
    return call(xid, NFS, 3, MKDIR, opaque(handle) + opaque(name) + struct.pack(">6I", 1, 0o777, 0, 0, 0, 0) +
                bytes(4), uid=uid)


def remove(xid, handle, name):
    return call(xid, NFS, 3, REMOVE, opaque(handle) + opaque(name))


class OverTcp(Case):
    def setUp(self):
        super().setUp()
        self.one = self.server(options=["--tcp-listen", "127.0.0.1:0"])
        with TcpPeer(self.one.tcp[0]) as peer:
            self.top = peer.mount("/files")

    @staticmethod
    def ask(peer, message):
        """Makes a call; returns the whole reply, and its NFS status."""
        peer.socket.sendall(record(message))
        reply = peer.reply()
        return reply, struct.unpack_from(">I", reply, 24)[0]

    @staticmethod
    def vanish(peer):
        """Resets the connection, so that its port is free at once; returns the port."""
        port = peer.socket.getsockname()[1]
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.socket.close()
        return port

    def peer_from(self, port=0):
        return TcpPeer(self.one.tcp[0], source=(ALONE, port))

    def test_two_ports_are_two_clients(self):
        with TcpPeer(self.one.tcp[0]) as one, TcpPeer(self.one.tcp[0]) as other:
            self.assertEqual(self.ask(one, mkdir(XID, self.top, b"d"))[1], OK)
            self.assertEqual(self.ask(other, mkdir(XID, self.top, b"d"))[1], EXIST)
            (self.files / "f").touch()
            self.assertEqual(self.ask(one, remove(XID, self.top, b"f"))[1], OK)
            self.assertEqual(self.ask(other, remove(XID, self.top, b"f"))[1], NOENT)
            self.assertEqual(self.ask(one, remove(XID, self.top, b"f"))[1], OK, "its own reply again")

    def test_a_call_that_comes_again_on_a_new_connection_is_not_run_again(self):
        first, status = self.ask(peer := self.peer_from(), mkdir(XID, self.top, b"d"))
        self.assertEqual(status, OK)
        port = self.vanish(peer)
        (self.files / "d").rmdir()
        with self.peer_from(port) as peer:
            self.assertEqual(self.ask(peer, mkdir(XID, self.top, b"d"))[0], first)
            self.assertFalse((self.files / "d").exists(), "made again")
            self.assertEqual(self.ask(peer, mkdir(XID + 1, self.top, b"d"))[1], OK)
            self.assertTrue((self.files / "d").is_dir())

    def test_an_xid_that_comes_again_with_something_else(self):
        peer = self.peer_from()
        self.assertEqual(self.ask(peer, mkdir(XID, self.top, b"d"))[1], OK)
        with self.peer_from(self.vanish(peer)) as again:
            self.assertEqual(self.ask(again, mkdir(XID, self.top, b"e"))[1], OK)
            self.assertTrue((self.files / "e").is_dir())
            self.assertEqual(self.ask(again, mkdir(XID, self.top, b"d", uid=1))[1], EXIST, "another user's")
            self.assertEqual(self.ask(again, remove(XID, self.top, b"d"))[1], 21, "another procedure")


class OverRdma(Case):
    """A client that reconnects has the same address, but another port."""

    def setUp(self):
        super().setUp()
        self.one = self.server()
        with self.peer() as peer:
            self.top = peer.mount("/files")

    def peer(self):
        return RpcPeer(self.one.rdma[0])

    def ask(self, peer, message):
        peer.send(header(XID) + message)
        words, body = peer.reply_to(XID)
        self.assertEqual(words[3], MSG)
        return body, struct.unpack_from(">I", body, 36)[0]

    def test_a_call_that_comes_again_is_not_run_again(self):
        with self.peer() as peer:
            first, status = self.ask(peer, mkdir(XID, self.top, b"d"))
        self.assertEqual(status, OK)
        (self.files / "d").rmdir()
        with self.peer() as peer:
            self.assertEqual(self.ask(peer, mkdir(XID, self.top, b"d"))[0], first)
            self.assertFalse((self.files / "d").exists(), "made again")

    def test_two_clients_of_one_machine_that_count_alike(self):
        with self.peer() as one, self.peer() as other:
            self.assertEqual(self.ask(one, mkdir(XID, self.top, b"of one"))[1], OK)
            self.assertEqual(self.ask(other, mkdir(XID, self.top, b"of other"))[1], OK)
            self.assertTrue((self.files / "of one").is_dir())
            self.assertTrue((self.files / "of other").is_dir())
            self.assertEqual(self.ask(other, mkdir(XID, self.top, b"of one", uid=1))[1], EXIST)
            self.assertEqual(self.ask(one, remove(XID, self.top, b"none"))[1], NOENT)
