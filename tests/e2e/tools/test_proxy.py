# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-proxy between rpcrdma-nfs and rpcrdma-nfsd: whatever happens to the connections, the files are the same
afterwards. And rpcrdma-proxy between peers that the test drives."""
import os
import resource
import socket
import struct
import threading
import time

from kit.case import Case
from kit.fabric import iwarp_only
from kit.proxy import Proxy
from kit.trees import differences, make_tree
from kit.waiting import DEADLINE_S, some_of, wait_until
from kit.wire.iwarp import CRC_BIT, REJECT_BIT, REPLY_KEY, SEND, Message, fpdu, mpa_request, untagged
from kit.wire.nfs import OK, ask, create, mkdir
from kit.wire.rpc import RpcPeer, call, header

MARKER_BIT = 0x80
DATA_SEGMENTS_IN = 152  # offset of tcpi_data_segs_in in Linux's struct tcp_info


class ProxyCase(Case):
    timeout_s = 300
    crc = "on"

    def setUp(self):
        super().setUp()
        self.one = self.server(options=["--crc", self.crc])
        self.local = make_tree(self.folder / "tree", 40, largest=100000)

    def proxy(self, *rules, **keywords):
        proxy = Proxy(self.folder, self.one.address, *rules, **keywords)
        self.addCleanup(proxy.stop)
        return proxy

    def there_and_back(self, *rules, name="tree", **keywords):
        """Copies a tree to the server and back through a proxy. Returns the proxy, which has ended."""
        with Proxy(self.folder, self.one.address, *rules, **keywords) as proxy:
            back = self.folder / f"back {name}"
            self.nfs("--crc", self.crc, "put", "-r", self.local, proxy.url(f"/files/{name}"), deadline_s=4 * DEADLINE_S)
            self.nfs("--crc", self.crc, "get", "-r", proxy.url(f"/files/{name}"), back, deadline_s=4 * DEADLINE_S)
            self.assertEqual(differences(self.local, self.files / name), [], proxy.log())
            self.assertEqual(differences(self.local, back), [], proxy.log())
        return proxy


@iwarp_only("the proxy relays iWARP")
class Rules(ProxyCase):
    def acts(self, action, *rules, least=1, **keywords):
        proxy = self.there_and_back(*rules, **keywords)
        counters = proxy.counters()
        self.assertGreaterEqual(counters[action], least, proxy.log())
        self.assertGreaterEqual(len(proxy.faults()), 1)
        self.assertEqual(counters["unframed"], 0)
        return counters

    def test_without_rules(self):
        counters = self.there_and_back().counters()
        self.assertEqual((counters["connections"], counters["faults"], counters["unframed"], counters["other"]), (2, 0, 0, 0))
        for kind in ("read_request", "read_response", "write"):
            self.assertGreater(counters[kind], 0, kind)
        self.assertEqual(counters["call"], counters["reply"])

    def test_cut_at_each_kind(self):
        for kind in ("call", "reply", "read-request", "read-response", "write"):
            for after in (0, 1, 30):
                with self.subTest(kind=kind, after=after):
                    how = "reset" if after == 1 else "close"
                    counters = self.acts("cut", f"cut {kind} 2 after={after} how={how}", name=f"{kind} {after}")
                    self.assertEqual((counters["cut"], counters["connections"]), (1, 3))

    def test_cut_in_start_up_of_a_reconnection(self):
        counters = self.acts("cut", "cut call 4", "cut mpa-request 1 after=10 connection=2",
                                "cut mpa-reply 1 after=19 connection=3")
        self.assertEqual(counters["cut"], 3)

    def test_delay(self):
        self.acts("delay", "delay any 3 count=20 ms=10", "delay read-response 1 ms=50", least=20)

    def test_hold(self):
        # A slow start-up makes the client send an empty Write: the rule for Writes has a direction.
        counters = self.acts("hold", "hold reply 5 ms=100", "hold call 9 ms=200 bytes=1", "hold write 1 ms=50 dir=to-client")
        self.assertEqual(counters["hold"], 3)

    def test_split(self):
        self.acts("split", "split any 1 count=200 size=random", "split call 1 count=20 size=1",
                     "split reply 1 count=5 size=1", least=150)

    def test_join(self):
        self.acts("join", "join any 5 count=30 ms=20", least=20)

    def test_flip_is_noticed_by_the_crc(self):
        for kind in ("call", "reply", "read-request", "read-response", "write"):
            with self.subTest(kind=kind):
                counters = self.acts("flip", f"flip {kind} 2", name=kind)
                self.assertGreaterEqual(counters["connections"], 3, "the connection ended")
                self.assertEqual(counters["terminate"], 1)

    def test_flip_with_a_correct_crc_is_noticed_in_the_header(self):
        for kind, field in (("call", "ddp-version"), ("reply", "rdmap-version"), ("write", "rdmap-version"),
                            ("read-request", "queue"), ("read-response", "stag"), ("call", "msn")):
            with self.subTest(kind=kind, field=field):
                counters = self.acts("flip", f"flip {kind} 2 field={field} crc=fix", name=f"{kind} {field}")
                self.assertGreaterEqual(counters["connections"], 3, "the connection ended")

    def test_lower_credits(self):
        self.acts("credits", "credits reply 2 count=100 grant=1", least=20)

    def test_drop_reply(self):
        for procedure in ("mkdir", "create", "symlink", "any"):
            with self.subTest(procedure=procedure):
                counters = self.acts("drop_reply", f"drop-reply {procedure}", name=procedure)
                self.assertEqual((counters["drop_reply"], counters["connections"]), (1, 3))

    def test_script(self):
        script = self.folder / "script"
        script.write_text("# two faults\ncut reply 3\n\ndelay call 2 ms=5 # and another\n")
        proxy = self.there_and_back(options=["--script", str(script)])
        counters = proxy.counters()
        self.assertEqual((counters["cut"], counters["delay"]), (1, 1))

    def test_without_crc(self):
        self.one.stop()
        self.one, self.crc = self.server(options=["--crc", "off"], name="other"), "off"
        self.acts("cut", "cut reply 3", "credits reply 4 count=9 grant=2", "flip call 7 field=ddp-version crc=fix")


@iwarp_only("the proxy relays iWARP")
class Seeds(ProxyCase):
    def under(self, seeds):
        counted = 0
        for seed in some_of(list(seeds)):
            with self.subTest(seed=seed):
                counted += self.there_and_back("random", seed=seed, name=str(seed)).counters()["faults"]
        self.assertGreater(counted, 0)

    def test_seeds_1_to_8(self):
        self.under(range(1, 9))

    def test_seeds_9_to_16(self):
        self.under(range(9, 17))

    def test_seeds_17_to_24(self):
        self.under(range(17, 25))

    def test_same_seed_same_faults(self):
        """One call at a time, so that both runs send the same messages."""
        rules = ("random connections=3 each=4", "flip call 4 connection=1", "split any 2 count=3 size=random")
        seen = []
        for _ in range(2):
            with Proxy(self.folder, self.one.address, *rules, seed=77) as proxy:
                for number in range(4):
                    (self.files / "file").unlink(missing_ok=True)
                    self.nfs("--crc", "on", "put", self.local / "d0/e0/file 0 \u00fc", proxy.url("/files/file"))
                    self.nfs("--crc", "on", "stat", proxy.url("/files/file"))
                seen.append(sorted(proxy.faults()))  # the order of the two directions is not fixed
        self.assertGreater(len(seen[0]), 2)
        self.assertEqual(seen[0], seen[1])


@iwarp_only("the proxy relays iWARP")
class Replies(ProxyCase):
    """A hand-driven client sends calls one by one through the proxy."""

    def test_a_create_whose_reply_was_cut_executes_once(self):
        proxy = self.proxy("drop-reply create", "drop-reply mkdir")
        for procedure, arguments in (create, "new file"), (mkdir, "new folder"):
            with RpcPeer(self.one.address) as direct:
                top = direct.mount("/files")
            number, body = procedure(top, arguments.encode())
            message = header(0x1111) + call(0x1111 + number, procedure=number, arguments=body)
            message = header(0x1111 + number) + message[len(header(0)):]
            with RpcPeer(proxy.address) as peer:
                peer.send(message)
                self.assertIsNone(peer.receive(), "the connection ends instead of the reply")
            made = self.files / arguments
            self.assertTrue(made.exists(), "the call was executed")
            made.unlink() if made.is_file() else made.rmdir()
            with RpcPeer(proxy.address) as peer:
                peer.send(message)
                _, results = peer.reply_to(0x1111 + number)
            self.assertEqual(struct.unpack_from(">I", results, 36)[0], OK)
            self.assertFalse(made.exists(), "executed again")
        self.assertEqual(proxy.counters()["drop_reply"], 2)

    def test_a_reset_is_passed_on(self):
        proxy = self.proxy("cut call 1 how=reset")
        with RpcPeer(proxy.address) as peer:
            with self.assertRaises(ConnectionError):
                peer.send(header(1) + call(1))
                if not peer.socket.recv(1):
                    raise AssertionError("an orderly end")

    def test_lowered_credits(self):
        proxy = self.proxy("credits reply 2 grant=3")
        with RpcPeer(proxy.address, crc=True) as peer:
            grants = []
            for xid in (1, 2, 3):
                peer.send(header(xid) + call(xid))
                grants.append(peer.reply_to(xid)[0][2])  # receive() checks the CRC
        self.assertEqual(grants[1], 3)
        self.assertGreater(min(grants[0], grants[2]), 3)


class Responder:
    """A listener with which a test sends and receives messages on one connection."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        self.listener.settimeout(DEADLINE_S)
        connection, _ = self.listener.accept()
        connection.settimeout(DEADLINE_S)
        self.listener.close()
        return connection


def exactly(connection, count):
    data = b""
    while len(data) < count and (more := connection.recv(count - len(data))):
        data += more
    return data


@iwarp_only("the proxy relays iWARP")
class Streams(Case):
    """The test itself sends and receives the messages on both sides of the proxy."""

    def between(self, *rules, **keywords):
        responder = Responder()
        self.one = Proxy(self.folder, responder.address, *rules, **keywords)
        self.addCleanup(self.one.stop)
        host, port = self.one.address.rsplit(":", 1)
        client = socket.create_connection((host, int(port)), DEADLINE_S)
        server = responder.accept()
        self.addCleanup(client.close)
        self.addCleanup(server.close)
        return client, server

    def start(self, client, server, flags=0, reply_flags=0):
        request = mpa_request(b"private", revision=1, flags=flags)
        client.sendall(request)
        self.assertEqual(exactly(server, len(request)), request)
        reply = REPLY_KEY + struct.pack(">BBH", reply_flags, 1, 2) + b"ok"
        server.sendall(reply)
        self.assertEqual(exactly(client, len(reply)), reply)

    @staticmethod
    def sends(count, size=40):
        return [fpdu(untagged(SEND, 0, msn, bytes([msn & 255]) * size), crc=True) for msn in range(1, count + 1)]

    def test_bytes_are_the_same_without_rules(self):
        client, server = self.between()
        self.start(client, server, CRC_BIT)
        for source, sink in ((client, server), (server, client)):
            stream = b"".join(self.sends(300, 3)) + fpdu(untagged(SEND, 0, 9, bytes(65000)))
            thread = threading.Thread(target=source.sendall, args=(stream,))
            thread.start()
            self.assertEqual(exactly(sink, len(stream)), stream)
            thread.join()

    def test_half_a_frame_and_then_the_end(self):
        client, server = self.between()
        self.start(client, server)
        half = self.sends(1)[0][:-5]
        client.sendall(half)
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(exactly(server, 1000), half)
        server.sendall(self.sends(1)[0])
        self.assertEqual(exactly(client, len(self.sends(1)[0])), self.sends(1)[0], "the other direction still works")
        server.close()
        self.assertEqual(client.recv(1), b"")

    def test_no_start_up_frame_is_passed_on(self):
        client, server = self.between("cut any 1")
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        self.assertEqual(exactly(server, 18), b"GET / HTTP/1.0\r\n\r\n")
        server.sendall(b"HTTP/1.0 200\r\n\r\n")
        self.assertEqual(exactly(client, 16), b"HTTP/1.0 200\r\n\r\n")
        self.assertEqual(self.one.counters()["unframed"], 2)

    def test_markers_are_passed_on_without_faults(self):
        client, server = self.between("cut call 1")
        self.start(client, server, MARKER_BIT)  # the responder sends markers
        server.sendall(bytes(4) + self.sends(1)[0])
        self.assertEqual(exactly(client, 68), bytes(4) + self.sends(1)[0])
        self.assertIn("no faults are injected into direction to-client, which has markers", self.one.log())
        client.sendall(self.sends(1)[0])
        self.assertEqual(exactly(server, 10), b"", "the other direction is cut")

    def test_markers_in_both_directions_are_passed_on(self):
        client, server = self.between()
        self.start(client, server, MARKER_BIT, MARKER_BIT)
        for source, sink in ((client, server), (server, client)):
            stream = bytes(4) + self.sends(1)[0]  # its payload looks like a long FPDU to one who sees no marker
            source.sendall(stream)
            self.assertEqual(exactly(sink, len(stream)), stream)
        self.assertEqual(self.one.counters()["unframed"], 2)

    def test_a_rejected_connection_is_passed_on(self):
        client, server = self.between("cut any 3")
        self.start(client, server, 0, REJECT_BIT)
        client.sendall(b"anything")
        self.assertEqual(exactly(server, 8), b"anything")

    def test_a_cut_passes_on_exactly_so_many_bytes(self):
        client, server = self.between("cut call 3 after=17")
        self.start(client, server)
        frames = self.sends(4)
        client.sendall(b"".join(frames))
        self.assertEqual(exactly(server, 1000), frames[0] + frames[1] + frames[2][:17])

    def test_a_cut_is_at_the_end_of_the_message_at_the_latest(self):
        client, server = self.between("cut call 1 after=100000")
        self.start(client, server)
        first, second = (fpdu(untagged(SEND, 0, 1, bytes(40), offset, last)) for offset, last in ((0, False), (40, True)))
        client.sendall(first + second + first)
        self.assertEqual(exactly(server, 1000), first + second)

    def test_a_flipped_bit(self):
        for crc in ("keep", "fix"):
            with self.subTest(crc=crc):
                client, server = self.between(f"flip call 2 bit=200 crc={crc}")
                self.start(client, server, 0, CRC_BIT)
                frames = self.sends(3)
                client.sendall(b"".join(frames))
                received = exactly(server, sum(map(len, frames)))
                self.assertEqual((received[:len(frames[0])], received[-len(frames[2]):]), (frames[0], frames[2]))
                spoiled = received[len(frames[0]):-len(frames[2])]
                expected = bytearray(frames[1])
                expected[25] ^= 0x80
                if crc == "fix":
                    expected = fpdu(bytes(expected[2:-4]), crc=True)
                self.assertEqual(spoiled, bytes(expected))
                self.assertEqual(Message(spoiled[2:-4]).msn, 2)
                self.one.stop()

    @staticmethod
    def segments(connection):
        """How many TCP segments with data have been received."""
        return struct.unpack_from("I", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), DATA_SEGMENTS_IN)[0]

    def test_pieces_are_tcp_segments(self):
        client, server = self.between("split call 2 size=7 dir=to-server")
        self.start(client, server)
        frames = self.sends(2)
        client.sendall(frames[0])
        self.assertEqual(exactly(server, len(frames[0])), frames[0])
        before = self.segments(server)
        client.sendall(frames[1])
        self.assertEqual(exactly(server, len(frames[1])), frames[1])
        self.assertGreater(self.segments(server) - before, 2)

    def test_a_delay_takes_its_time(self):
        client, server = self.between("delay call 1 ms=300")
        self.start(client, server)
        start, frame = time.monotonic(), self.sends(1)[0]
        client.sendall(frame)
        self.assertEqual(exactly(server, len(frame)), frame)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)

    def test_joined_messages_arrive_as_one(self):
        """The proxy waits for the second message, which is sent once the proxy has read the first."""
        client, server = self.between("join call 1 ms=2000")
        self.start(client, server)
        frames, before = self.sends(2), self.segments(server)
        client.sendall(frames[0])
        wait_until(self.one.faults, "the join")
        client.sendall(frames[1])
        self.assertEqual(exactly(server, 2 * len(frames[0])), frames[0] + frames[1])
        self.assertEqual(self.segments(server) - before, 1)

    def test_a_hold_ends_when_the_other_direction_has_passed_bytes(self):
        client, server = self.between("hold call 1 dir=to-server ms=60000 bytes=60", options=["--log-level", "debug"])
        self.start(client, server)
        frame = self.sends(1)[0]
        client.sendall(frame)
        wait_until(lambda: self.one.faults(), "the hold")
        server.sendall(frame)
        self.assertEqual(exactly(client, len(frame)), frame)
        self.assertEqual(exactly(server, len(frame)), frame)
        wait_until(lambda: "direction to-server: the hold ended" in self.one.log(), "the log line about the release")

    def test_a_peer_that_does_not_read_costs_no_memory(self):
        """The proxy stops reading from one side while the other side does not read."""
        client, server = self.between("split call 5 count=3 size=1")
        self.start(client, server)
        client.setblocking(False)
        stream, sent, last = fpdu(untagged(SEND, 0, 1, bytes(60000))) * 64, 0, time.monotonic()
        view = memoryview(stream)
        while time.monotonic() - last < 1 and sent < 1 << 30:
            try:
                count = client.send(view[sent % len(stream):])
                sent, last = sent + count, time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        self.assertLess(sent, 1 << 30, "the proxy stops reading")
        resident = int(open(f"/proc/{self.one.process.pid}/statm").read().split()[1]) * resource.getpagesize()
        self.assertLess(resident, 64 << 20)
        client.shutdown(socket.SHUT_WR)
        got = 0
        while more := len(server.recv(1 << 20)):
            got += more
        self.assertEqual(got, sent)

    def test_no_server(self):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        listener.close()
        with Proxy(self.folder, f"127.0.0.1:{port}") as proxy:
            host, own = proxy.address.rsplit(":", 1)
            with socket.create_connection((host, int(own)), DEADLINE_S) as client:
                self.assertIn(client.recv(1), (b"",))
            wait_until(lambda: "cannot connect" in proxy.log(), "a line in the log")


@iwarp_only("the proxy relays iWARP")
class CommandLine(Case):
    def refused(self, *arguments):
        done = self.run_program("rpcrdma-proxy", *arguments)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.stderr.decode()

    def test_mistakes(self):
        both = ("--listen", "127.0.0.1:0", "--to", "127.0.0.1:20049")
        self.assertIn("--listen", self.refused("--to", "127.0.0.1:1"))
        self.assertIn("--to: not ADDR:PORT: 127.0.0.1:0", self.refused("--listen", "127.0.0.1:0", "--to", "127.0.0.1:0"))
        self.assertIn("--listen: not ADDR:PORT: host:1", self.refused("--listen", "host:1", "--to", "127.0.0.1:1"))
        self.assertIn("'burn it': not an action", self.refused(*both, "--fault", "burn it"))
        self.assertIn("--log-level", self.refused(*both, "--log-level", "loud"))
        for path in (self.folder / "none", self.folder):
            self.assertIn("cannot read", self.refused(*both, "--script", str(path)))
        (self.folder / "script").write_text("cut reply\ncut nothing\n")
        self.assertIn("line 2: cut: 'nothing' is neither", self.refused(*both, "--script", str(self.folder / "script")))
        (self.folder / "long").write_bytes(b"#" * ((1 << 20) + 1))
        self.assertIn("longer than 1 MiB", self.refused(*both, "--script", str(self.folder / "long")))

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.run_program("rpcrdma-proxy", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--to", "127.0.0.1:1")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)

    def test_ready_line(self):
        with Proxy(self.folder, "127.0.0.1:20049", seed=5) as proxy:
            self.assertEqual((proxy.to, proxy.seed), ("127.0.0.1:20049", "5"))
            self.assertTrue(os.path.exists(f"/proc/{proxy.process.pid}"))
