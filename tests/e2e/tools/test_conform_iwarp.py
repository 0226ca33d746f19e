# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-conform iwarp against this project's server, and against peers that break rules."""
import contextlib
import re
import socket
import struct
import xml.etree.ElementTree as ElementTree

from kit.case import Case
from kit.fabric import iwarp_only
from kit.listening import Listening
from kit.waiting import DEADLINE_S
from kit.wire.answering import Accepted, Answerer
from kit.wire.iwarp import CRC_BIT, REPLY_KEY

LINE = re.compile(r"^(pass|fail|skip|known) +(MUST|SHOULD|ROBUSTNESS) +(\S+)", re.MULTILINE)


@iwarp_only("drives iWARP by hand")
class ConformIwarp(Case):
    timeout_s = 300

    def conform(self, address, *options, status=0):
        done = self.run_program("rpcrdma-conform", "iwarp", address, *options, "--patience", "60", "--stall", "120",
                                deadline_s=4 * DEADLINE_S)
        self.assertEqual(done.returncode, status, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode()

    def test_this_server_passes(self):
        """No case fails at any level."""
        for number, (options, words) in enumerate([((), ()), (("--threads", "3"), ("--enhanced", "--pause", "0.001"))]):
            with self.subTest(options=options):
                one = self.server(options=options, name=f"server {number}")
                report = self.folder / "report.xml"
                shown = self.conform(one.address, "--junit", report, *words)
                verdicts = LINE.findall(shown)
                self.assertGreater(len(verdicts), 200, shown)
                self.assertEqual([line for line in verdicts if line[0] not in ("pass", "skip")], [], shown)
                self.assertLessEqual(sum(line[0] == "skip" for line in verdicts), 3, shown)
                cases = ElementTree.parse(report).getroot().iter("testcase")
                self.assertEqual(len(list(cases)), len(verdicts))
                self.assertEqual(one.stop(), 0)

    def test_with_crcs_of_the_server(self):
        one = self.server(options=["--crc", "on"])
        shown = self.conform(one.address, "--only", "fpdu/*")
        self.assertIn("fpdu/crc-on-by-the-reply", shown)
        self.assertEqual({line[0] for line in LINE.findall(shown) if line[2] != "fpdu/crc-off"}, {"pass"}, shown)

    def test_a_server_with_large_receives(self):
        one = self.server(options=["--inline-threshold", "262144"])
        shown = self.conform(one.address, "--only", "*/too-long")
        self.assertEqual([line[0] for line in LINE.findall(shown)], ["pass"] * 3, shown)

    def test_a_peer_that_accepts_malformed_requests(self):
        with Accepting() as peer:
            shown = self.conform(peer.address, "--only", "enhanced/word-of-0-bytes", status=1)
        self.assertIn("the peer answered and then closed", shown)

    def test_list(self):
        """--list needs no peer."""
        done = self.run_program("rpcrdma-conform", "iwarp", "--list", "--only", "terminate/*")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().splitlines()
        self.assertGreater(len(lines), 30)
        self.assertTrue(all(line.startswith("terminate/") for line in lines))

    def test_mistakes(self):
        for arguments in ((), ("host:1",), ("127.0.0.1:0",), ("127.0.0.1",), ("127.0.0.1:1", "--only", "none/*")):
            done = self.run_program("rpcrdma-conform", "iwarp", *arguments)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
        done = self.run_program("rpcrdma-conform", "iwarp", address)
        self.assertEqual(done.returncode, 3, done.stderr)


class Accepting(Answerer):
    """Accepts every Request, malformed ones too."""

    def __init__(self):
        super().__init__(lambda *_: None)

    def accepted(self, connection, address):
        peer = Accepted(connection)
        peer.accept = lambda: self.accept(peer)
        self.run(self._serve, peer)

    @staticmethod
    def accept(peer):
        head = peer.receive_exactly(20)
        if len(head) < 20:
            return False
        flags, revision, length = struct.unpack_from(">BBH", head, 16)
        peer.receive_exactly(length)
        peer.crc = bool(flags & CRC_BIT)
        peer.raw(REPLY_KEY + struct.pack(">BBH", flags & CRC_BIT, revision, 0))
        return True


class Wrong(Listening):
    """Answers each Request with a Reply that has `flags` and `data`. Sends `answer` when the peer has sent more."""

    def __init__(self, data=b"", answer=b"", flags=0x40):
        self.reply, self.answer = REPLY_KEY + struct.pack(">BBH", flags, 1, len(data)) + data, answer
        super().__init__()

    def accepted(self, connection, address):
        with connection, contextlib.suppress(ConnectionError):
            self.request = connection.recv(4096)
            if self.request:
                connection.sendall(self.reply)
            if connection.recv(4096):
                connection.sendall(self.answer)


@iwarp_only("drives iWARP by hand")
class WrongPeers(Case):
    """Peers that cannot be tested: the tester says why and exits with status 3."""

    def unreachable(self, peer, why):
        with peer:
            done = self.run_program("rpcrdma-conform", "iwarp", peer.address)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(why, done.stderr.decode())

    def test_a_bad_crc(self):
        self.unreachable(Wrong(answer=struct.pack(">H", 18) + b"\x41\x43" + bytes(20)), "CRC")

    def test_a_reply_that_is_too_long(self):
        self.unreachable(Wrong(data=bytes(513)), "513 bytes of private data")

    def test_a_rejection(self):
        self.unreachable(Wrong(flags=0x60), "rejected")

    def test_an_end_within_an_fpdu(self):
        self.unreachable(Wrong(answer=b"\xff\xff\x41"), "within an FPDU")

    def test_the_request(self):
        """The tester's Request is of revision 1, or with --enhanced of revision 2 with read depths."""
        for words, request in ((), b"\x40\x01\x00\x00"), (["--enhanced"], b"\x50\x02\x00\x04\x00\x10\x00\x10"):
            with Wrong(flags=0x60) as peer:
                self.run_program("rpcrdma-conform", "iwarp", *words, peer.address)
            self.assertEqual(peer.request, b"MPA ID Req Frame" + request)

    def test_an_end_without_answer(self):
        self.unreachable(Wrong(), "ended without an answer")
