# SPDX-License-Identifier: BSD-3-Clause
"""--capture: tshark decodes the files, and they agree with the traffic on the wire."""
import os
import re
import signal
import struct
import subprocess
import unittest
from pathlib import Path

from kit.case import Case
from kit.counts import Counts
from kit.fabric import ADDRESS, ADDRESS6, FABRIC, OPTIONS, iwarp_only
from kit.server import binary
from kit.trees import noise
from kit.waiting import DEADLINE_S, wait_until
from kit.wire import flows, iwarp, pcapng, rpc
from kit.wire.pcap import SERVER_PORT
from kit.wire.recut import recut
from kit.wire.relay import Relay
from kit.wire.tcpdump import Tcpdump
from kit.wire.tshark import UNKNOWN_PROGRAMS, checksum_verdicts, packets

CALL, REPLY = 0, 1  # rpc.msgtyp
ENTRIES = 1000
BULK = 1500000
TARGET = "".join(f"{number:04}/" for number in range(1, 801))  # of a symbolic link: a call that does not fit inline


class Both(Case):
    """Compares what client and server have captured with the wire."""

    def server_port(self):
        raise NotImplementedError

    def exchange(self, address):
        """Makes calls to the server through `address`; the clients capture to self.clients."""
        raise NotImplementedError

    def end(self):
        """Ends the server, which captures to self.of_server."""
        raise NotImplementedError

    def compare(self, wire, port_of_clients):
        """Checks that both sides captured the messages of `wire`, which has one MPA frame in each packet."""
        sent = flows.of_wire(wire, SERVER_PORT)
        of_server = flows.of_capture(self.of_server, self.server_port())
        of_clients = [one for capture in self.clients for one in flows.of_capture(capture, port_of_clients)]
        self.assertEqual([len(of_server), len(of_clients), len(self.clients)], 3 * [len(sent)])
        for real, server, client in zip(sent, of_server, of_clients):
            for one in (server, client):
                self.assertEqual(one.flows, real.flows)
                self.assertEqual(flows.check_order(self, one), flows.check_order(self, real))
        return sent

    def through_a_relay(self):
        wire = self.folder / "wire.pcap"
        with Relay(f"{ADDRESS}:{self.server_port()}", wire) as relay:
            self.exchange(relay.address)
        self.end()
        return self.compare(wire, int(relay.address.rsplit(":", 1)[1]))

    def as_tcpdump_has_it(self):
        tcpdump = Tcpdump(self, self.folder / "captured.pcap", self.server_port())
        self.exchange(f"{ADDRESS}:{self.server_port()}")
        tcpdump.stop()
        self.end()
        wire = self.folder / "wire.pcap"
        recut(tcpdump.path, wire, self.server_port())
        return self.compare(wire, self.server_port())


class FrameCapture(Both):
    """ping, ls -l, put, get and a long call, captured on both sides."""

    timeout_s = 300

    def setUp(self):
        super().setUp()
        self.of_server = self.folder / "server.pcapng"
        self.one = self.server(options=["--capture", str(self.of_server)])
        folder = self.files / "many"
        folder.mkdir()
        for index in range(ENTRIES):
            (folder / f"entry {index}").touch()
        self.local = self.folder / "local"
        self.local.write_bytes(noise(BULK))
        self.clients = []

    def captured(self, program, *arguments):
        """Runs a client with a capture of its own."""
        path = self.folder / f"client{len(self.clients)}.pcapng"
        self.clients.append(path)
        done = self.run_program(program, *OPTIONS, "--capture", path, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout

    def exchange(self, address):
        self.captured("rpcrdma-ping", "--count", "5", address)
        self.assertEqual(len(self.captured("rpcrdma-nfs", "ls", "-l", f"nfs://{address}/files/many").splitlines()), ENTRIES)
        self.captured("rpcrdma-nfs", "put", self.local, f"nfs://{address}/files/bulk")
        self.captured("rpcrdma-nfs", "get", f"nfs://{address}/files/bulk", self.folder / "back")
        self.assertEqual((self.folder / "back").read_bytes(), self.local.read_bytes())
        self.captured("rpcrdma-nfs", "ln", "-s", TARGET, f"nfs://{address}/files/long")
        self.assertEqual(os.readlink(self.files / "long"), TARGET)

    def server_port(self):
        return self.one.port

    def end(self):
        self.one.stop()

    def check_decoded(self, seen):
        for layer in ("iwarp_mpa", "iwarp_ddp_rdmap", "rpcordma", "rpc", "nfs"):
            self.assertTrue(any(packet.has(layer) for packet in seen), layer)
        for packet in seen:
            with self.subTest(packet=packet):
                self.assertTrue(packet.has("iwarp_mpa") or "Len=0" in packet.info)
                # A limit of the dissector: it misses the body of READ replies whose data is in a Write chunk.
                if packet.has("_ws.malformed"):
                    self.assertIn("READ Reply", packet.info)

        def some(what, condition):
            self.assertTrue(any(condition(packet) for packet in seen), what)

        some("NULL", lambda p: "NULL Call" in p.info)
        some("READ by Write chunk", lambda p: p.number_of("procedure") == rpc.READ and p.number_of("rpc") == CALL and
             p.number_of("writes") == 1)
        some("RDMA Write", lambda p: p.opcode(iwarp.WRITE))
        some("WRITE by Read chunk", lambda p: p.number_of("message") == rpc.MSG and p.number_of("reads") == 1 and
             p.number_of("positions") not in (None, 0))
        some("RDMA Read Request", lambda p: p.opcode(iwarp.READ_REQUEST))
        some("RDMA Read Response", lambda p: p.opcode(iwarp.READ_RESPONSE))
        some("a reassembled WRITE", lambda p: p.number_of("procedure") == rpc.WRITE)
        some("a call with a Reply chunk", lambda p: p.number_of("procedure") == rpc.READDIRPLUS and
             p.number_of("rpc") == CALL and p.number_of("reply_chunk") == 1)
        some("a reply in the Reply chunk", lambda p: p.number_of("message") == rpc.NOMSG and
             p.number_of("reply_chunk") == 1)
        some("a long call", lambda p: p.number_of("message") == rpc.NOMSG and p.number_of("positions") == 0)
        some("the SYMLINK in it", lambda p: p.number_of("procedure") == rpc.SYMLINK and p.number_of("rpc") == CALL)
        self.assertFalse(any("TCP Dup ACK" in packet.info or "Retransmission" in packet.info or
                             "not captured" in packet.info or "Window Full" in packet.info for packet in seen))

    def test_decoded_by_tshark(self):
        self.exchange(self.one.address)
        self.one.stop()
        for capture in (self.of_server, *self.clients):
            self.assertEqual(pcapng.statistics(capture)[1], 0)
            self.assertEqual(checksum_verdicts(capture), (2 * len(list(pcapng.packets(capture))), 0))
        self.check_decoded(packets(self.of_server))
        seen = [packet for capture in self.clients for packet in packets(capture)]
        self.check_decoded(seen)
        comments = [packet.comment for capture in self.clients for packet in pcapng.packets(capture)]
        for text in ("connection 1: ", "bind: handle 0x", "may be written by the peer"):
            self.assertTrue(any(text in comment for comment in comments), text)

    def check_kinds(self, sent):
        for side, kind in ((1, flows.WRITES), (1, flows.REQUESTS), (0, flows.RESPONSES)):
            self.assertTrue(any(getattr(one.flows[side], kind) for one in sent), kind)
        calls = [flows.Header(octets) for _, octets in sent[-1].flows[0].sends]
        self.assertTrue(any(call.procedure == rpc.NOMSG for call in calls), "the long call")

    @iwarp_only("compares with the frames of the TCP stream")
    def test_equal_to_the_wire(self):
        self.check_kinds(self.through_a_relay())

    @iwarp_only("compares with the frames of the TCP stream")
    def test_equal_to_tcpdump(self):
        self.check_kinds(self.as_tcpdump_has_it())

    def test_stopped_and_started_by_a_signal(self):
        """SIGUSR2 stops the capture or starts it again; the file is whole while the capture is stopped."""
        self.nfs("ping", self.one.url("/files"))
        os.kill(self.one.process.pid, signal.SIGUSR2)
        wait_until(lambda: "capture: stopped" in self.one.log(), "the log line")

        def has_statistics():
            try:
                return pcapng.statistics(self.of_server) is not None
            except (AssertionError, struct.error):  # a block is being written
                return False

        wait_until(has_statistics, "the statistics")
        before = len(list(pcapng.packets(self.of_server)))
        self.nfs("ping", self.one.url("/files"))
        self.assertEqual(len(list(pcapng.packets(self.of_server))), before)
        os.kill(self.one.process.pid, signal.SIGUSR2)
        wait_until(lambda: "capture: started" in self.one.log(), "the log line")
        self.nfs("ping", self.one.url("/files"))
        self.one.stop()
        self.assertGreater(len(list(pcapng.packets(self.of_server))), before)

    def test_cut(self):
        """snap cuts RDMA Reads and Writes; tshark decodes the rest."""
        path = self.folder / "cut.pcapng"
        for command in (("put", self.local, self.one.url("/files/bulk")), ("get", self.one.url("/files/bulk"), self.folder / "back")):
            done = self.run_program("rpcrdma-nfs", *OPTIONS, "--capture", f"{path},snap=100", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(path.stat().st_size, BULK // 10)
            self.assertTrue(any(packet.comment.startswith("the first bytes of ") for packet in pcapng.packets(path)))
            self.assertEqual(checksum_verdicts(path)[1], 0)
            seen = packets(path)
            self.assertTrue(any("LOOKUP" in packet.info for packet in seen))
            self.assertTrue(any(packet.opcode(iwarp.READ_RESPONSE) or packet.opcode(iwarp.WRITE) for packet in seen))
            for packet in seen:
                self.assertTrue(packet.has("iwarp_mpa") or "Len=0" in packet.info)
                if packet.has("_ws.malformed"):
                    self.assertIn("READ Reply", packet.info)

    def test_over_ipv6(self):
        server = self.server(listen=(f"[{ADDRESS6}]:0",), name="six")
        self.captured("rpcrdma-nfs", "ls", "-l", server.url("memory"))
        (path,) = self.clients
        self.assertEqual(checksum_verdicts(path), (len(list(pcapng.packets(path))), 0), "one of each packet: that of TCP")
        seen = packets(path)
        self.assertTrue(all("ipv6" in packet.protocols for packet in seen))
        self.assertTrue(any("READDIRPLUS Reply" in packet.info for packet in seen))

    @unittest.skipUnless(Path(binary("rpcrdma-load")).exists(), "not built")
    def test_load(self):
        """The capture has each call that rpcrdma-load counts."""
        (self.files / "bulk").write_bytes(self.local.read_bytes())
        path = self.folder / "load.pcapng"
        done = self.run_program("rpcrdma-load", "--fabric", FABRIC, "--seconds", "0.1", "--depth", "1", "--block", "65536", "--capture",
                                f"{path},snap=0", self.one.url("/files/bulk"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        counts = Counts()
        counts.add_capture(path, self.one.port)
        reads = sum(number for labels, number in counts.of("calls_total").items() if ("procedure", "READ") in labels)
        self.assertEqual(reads, int(re.match(rb"calls=(\d+) ", done.stdout).group(1)))

    def test_tester_of_servers(self):
        path = self.folder / "conform.pcapng"
        done = self.run_program("rpcrdma-conform", "server", "--capture", path, "--program", "null", "--only", "header/*",
                                f"{FABRIC}@{self.one.address}")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        seen = packets(path)
        for text in ("NULL Call", "NULL Reply"):
            self.assertTrue(any(text in packet.info for packet in seen), text)
        # The capture has a call whose header the tester sent with a wrong version.
        self.assertTrue(any(b"\0\0\0\x02" == message[4:8] for connection in flows.of_capture(path, self.one.port)
                            for _, message in connection.flows[0].sends))

    def test_tester_of_clients(self):
        path = self.folder / "conform.pcapng"
        done = self.run_program("rpcrdma-conform", "client", "--listen", f"{FABRIC}@{ADDRESS}:0", "--capture", path, "--only",
                                "errors/err-chunk-to-data", "--", binary("rpcrdma-nfs"), *OPTIONS, "get", "-r", "{url}", "{dir}")
        self.assertEqual(done.stderr, b"", done.stdout)
        seen = packets(path)
        for text in ("MNT Call", "READ Call", "READ Reply"):
            self.assertTrue(any(text in packet.info for packet in seen), text)

    def test_refused(self):
        """A capture file that cannot be written and a wrong value of `snap` are errors."""
        url = self.one.url("/files")
        for status, program, *arguments in (
                (1, "rpcrdma-nfs", *OPTIONS, "ping", url), (1, "rpcrdma-ping", *OPTIONS, self.one.address),
                (2, "rpcrdma-conform", "server", "--program", "null", f"{FABRIC}@{self.one.address}"),
                (2, "rpcrdma-conform", "client", "--listen", f"{FABRIC}@{ADDRESS}:0", "--", "false")):
            if program == "rpcrdma-conform":
                arguments.insert(1, "--capture={}")
            else:
                arguments.insert(0, "--capture={}")
            done = self.run_program(program, *(str(word).replace("{}", str(self.folder / "no folder" / "x")) for word in arguments))
            self.assertEqual(done.returncode, status)
            self.assertIn(b"No such file or directory", done.stderr)
            done = self.run_program(program, *(str(word).replace("{}", "x,snap=one") for word in arguments))
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"wrong value: 'snap=one'", done.stderr)


class Reverse(Both):
    """Calls of a server to its client (RFC 8167), captured on both sides."""

    COUNT = 20

    def setUp(self):
        super().setUp()
        self.of_server, self.clients = self.folder / "server.pcapng", [self.folder / "client.pcapng"]
        self.service = subprocess.Popen([binary("e2e_reverse"), "serve", f"{FABRIC}@{ADDRESS}:0", str(self.of_server)],
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.service.communicate)
        self.addCleanup(self.service.kill)
        self.address = self.service.stdout.readline().split()[1]

    def server_port(self):
        return int(self.address.rsplit(":", 1)[1])

    def exchange(self, address):
        done = self.run_program("e2e_reverse", "call", f"{FABRIC}@{address}", self.clients[0], self.COUNT)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)

    def end(self):
        self.service.terminate()
        self.assertEqual(self.service.wait(DEADLINE_S), 0)

    def test_decoded_by_tshark(self):
        """tshark finds the calls of both directions in the captures of both sides."""
        self.exchange(f"{ADDRESS}:{self.server_port()}")
        self.end()
        for capture in (self.of_server, *self.clients):
            connection, = flows.of_capture(capture, self.server_port())
            self.assertEqual(flows.check_order(self, connection), [1, self.COUNT])
            seen = packets(capture, *UNKNOWN_PROGRAMS)
            self.assertFalse([packet for packet in seen if packet.has("_ws.malformed")])
            for program, count, side in ((0x20004d50, 1, 0), (0x20004d51, self.COUNT, 1)):
                of_program = [p for p in seen if p.number_of("program") == program]
                for kind, sender in ((CALL, side), (REPLY, 1 - side)):
                    found = [p for p in of_program if p.number_of("rpc") == kind]
                    self.assertEqual(len(found), count)
                    self.assertEqual({int(p.source == str(self.server_port())) for p in found}, {sender})

    @iwarp_only("compares with the frames of the TCP stream")
    def test_equal_to_the_wire(self):
        self.through_a_relay()

    @iwarp_only("compares with the frames of the TCP stream")
    def test_equal_to_tcpdump(self):
        self.as_tcpdump_has_it()
