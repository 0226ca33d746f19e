# SPDX-License-Identifier: BSD-3-Clause
"""The client against servers that break the protocol, and how its connections end."""
import struct

from kit.case import Case
from kit.fabric import iwarp_only
from kit.wire import answering, rpc
from kit.wire.answering import CLOSED, Answerer

ENDLESS = "The server lists the directory without end"
BY_PROCEDURE = {rpc.GETATTR: answering.ATTRIBUTES, rpc.FSINFO: answering.FSINFO, rpc.REMOVE: answering.CHANGED,
                rpc.RMDIR: answering.CHANGED}


def first_opaque(data):
    """Splits off an opaque item: returns it, and the bytes after it."""
    length = struct.unpack_from(">I", data)[0]
    return data[4:4 + length], data[4 + (length + 3) // 4 * 4:]


def serving(listing):
    """The answers of a server that exports /export. `listing(cookie)` lists its directory "tree", whose subdirectories
    are empty."""
    def answer(program, procedure, arguments):
        handle, rest = first_opaque(arguments)
        if program == rpc.MOUNT:
            return answering.MOUNTED if handle == b"/export" else answering.NOT_MOUNTED
        if procedure == rpc.LOOKUP:
            return answering.found(b"tree" if first_opaque(rest)[0] == b"tree" else b"child")
        if procedure not in (rpc.READDIR, rpc.READDIRPLUS):
            return BY_PROCEDURE.get(procedure)
        entries, end = listing(struct.unpack_from(">Q", rest)[0]) if handle == b"tree" else ([], True)
        return answering.page(entries, end, procedure == rpc.READDIRPLUS)
    return answer


def cycle(cookie):
    """Cookies 0, 1, 2, 3, 1, 2, 3, ..."""
    following = cookie + 1 if cookie < 3 else 1
    return [(b"name%d" % following, following, b"child")], False


def nothing(cookie):
    """Pages that list only ".", with a new cookie each time."""
    return [(b".", cookie + 1, b"child")], False


@iwarp_only("drives the server's end of a connection by hand")
class HostileServer(Case):
    def test_listings_without_end(self):
        for listing in (cycle, nothing):
            with self.subTest(listing.__name__), Answerer(serving(listing)) as server:
                tree = server.url("export/tree")
                for command in (["ls"], ["ls", "-l"], ["get", "-r"]):
                    local = [self.folder] if command[0] == "get" else []
                    message = self.nfs_fails(*command, tree, *local)
                    self.assertTrue(message.endswith(ENDLESS), message)
                self.assertLess(server.calls, 200)

    def test_removing_what_is_listed_without_end(self):
        with Answerer(serving(cycle)) as server:
            message = self.nfs_fails("rm", "-r", server.url("export/tree"))
            self.assertTrue(message.endswith("Directory not empty"), message)
            self.assertLess(server.calls, 200)
        with Answerer(serving(nothing)) as server:
            message = self.nfs_fails("rm", "-r", server.url("export/tree"))
            self.assertTrue(message.endswith(ENDLESS), message)

    def test_connections_end_in_an_orderly_way(self):
        with Answerer(serving(lambda _: ([(b"name", 1, b"child")], True))) as server:
            self.nfs("ls", server.url("export/tree"))
            self.assertEqual(server.end(0), CLOSED)
            self.nfs_fails("cat", server.url("export/tree"))
            self.assertEqual(server.end(1), CLOSED)
            done = self.run_program("rpcrdma-ping", "--fabric", "iwarp", "--count", "3", server.address)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(server.end(2), CLOSED)
