# SPDX-License-Identifier: BSD-3-Clause
"""The services over plain TCP: raw peers, libnfs's tools, and rpcbind with its tools."""
import os
import signal
import socket
import struct
import subprocess
import unittest
from unittest import mock

from kit.case import Case
from kit.fabric import ADDRESS, ADDRESS6, FABRIC, iwarp_only
from kit.namespace import Namespace, missing_tools
from kit.trees import noise
from kit.waiting import DEADLINE_S, wait_until
from kit.wire.rpc import GETATTR, MOUNT, NFS, READ, READDIR, WRITE, call, opaque
from kit.wire.tcp import LAST, TcpPeer, record

NOENT, ACCES, NOTDIR, STALE = 2, 13, 20, 70
DUMP = 2  # of MOUNT
PIPES = 8  # the most that a thread of the server opens


class TcpCase(Case):
    def tcp_server(self, exports=None, tcp=("127.0.0.1:0",), options=(), **keywords):
        listens = [word for address in tcp for word in ("--tcp-listen", address)]
        return self.server(exports, options=[*listens, *options], **keywords)

    def mnt_status(self, peer, path):
        return struct.unpack_from(">I", peer.results(MOUNT, 3, 1, opaque(os.fsencode(path))))[0]


@iwarp_only("plain TCP alone")
class Peers(TcpCase):
    def test_three_octets_delay_nobody(self):
        server = self.tcp_server(options=["--threads", "1"])
        with TcpPeer(server.tcp[0]) as silent, TcpPeer(server.tcp[0]) as busy:
            silent.socket.sendall(b"\x80\x00\x00")
            for _ in range(50):
                busy.null()
            with TcpPeer(server.tcp[0]) as late:
                late.mount("/files")
            message = record(call(9, NFS, 3, 0))
            silent.socket.sendall(message[3:])
            self.assertEqual(struct.unpack_from(">I", silent.reply())[0], 9)

    def test_a_crowd_of_silent_peers_leaves_room_for_other_addresses(self):
        server = self.tcp_server(options=["--max-connections", "300"])
        crowd = []
        try:
            for _ in range(260):
                peer = TcpPeer(server.tcp[0])
                crowd.append(peer)
                peer.socket.sendall(b"\x80\x00\x00")
            wait_until(lambda: server.counters()["tcp_refused"] == 4, "the refusal of connections over 256")
            with TcpPeer(server.tcp[0], source=("127.0.0.2", 0)) as other:
                other.null()
        finally:
            for peer in crowd:
                peer.close()
        wait_until(lambda: server.counters()["tcp_connections"] == 0, "the connections' end")

    def test_hostile_records(self):
        server = self.tcp_server()
        before = server.resident_kib()
        for octets in (b"\xff\xff\xff\xff", bytes(8), struct.pack(">I", LAST), record(b"abcd"),
                       struct.pack(">I", LAST | 0x200000) + bytes(100)):
            with TcpPeer(server.tcp[0]) as peer:
                peer.socket.sendall(octets)
                self.assertTrue(peer.ended(), octets.hex())
        with TcpPeer(server.tcp[0]) as peer:
            peer.null()
        self.assertLess(server.resident_kib() - before, 64 << 10)

    def test_truncated_call_headers(self):
        server = self.tcp_server()
        with TcpPeer(server.tcp[0]) as peer:
            for length in range(8, 24):
                peer.socket.sendall(record(call(length, NFS, 3, 0)[:length]))
                self.assertEqual(peer.reply(), struct.pack(">6I", length, 1, 0, 0, 0, 4))  # GARBAGE_ARGS

    def test_many_fragments_make_one_record(self):
        server = self.tcp_server()
        with TcpPeer(server.tcp[0]) as peer:
            octets = call(5, NFS, 3, 0)
            parts = [struct.pack(">I", 1) + octets[i:i + 1] for i in range(len(octets) - 1)]
            peer.socket.sendall(b"".join(parts) + record(octets[-1:]))
            self.assertEqual(struct.unpack_from(">II", peer.reply()), (5, 1))

    def test_end_answers_calls_in_progress_and_closes(self):
        server = self.tcp_server(options=["--threads", "2"])
        content = noise(1 << 20)
        (self.files / "big").write_bytes(content)
        with TcpPeer(server.tcp[0]) as reader, TcpPeer(server.tcp[0]) as idle, TcpPeer(server.tcp[0]) as partial:
            handle = reader.lookup(reader.mount("/files"), "big")
            idle.null()
            partial.socket.sendall(b"\x80\x00\x10\x00 begun")
            # More than the socket buffers hold: at shutdown replies are still unsent.
            arguments = opaque(handle) + struct.pack(">QI", 0, 1 << 20)
            reader.socket.sendall(b"".join(record(call(100 + i, NFS, 3, READ, arguments)) for i in range(12)))
            first = reader.reply()
            server.process.send_signal(signal.SIGTERM)
            self.assertTrue(idle.ended())
            self.assertTrue(partial.ended())
            replies = [first]
            try:
                while True:
                    replies.append(reader.reply())
            except (EOFError, ConnectionResetError):
                pass
            self.assertGreaterEqual(len(replies), 2)
            self.assertLessEqual(len(replies), 12)
            for reply in replies:
                self.assertTrue(reply.rstrip(b"\0").endswith(content.rstrip(b"\0")))
        self.assertEqual(server.process.wait(DEADLINE_S), 0)
        server.process.stdout.close()

    def deaf_peer(self, server, host, calls):
        """Sends as much of `calls` as the socket accepts, and reads no replies; returns a function that sends more."""
        address, port = server.tcp[0].rsplit(":", 1)
        peer = socket.socket()
        self.addCleanup(peer.close)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.bind((host, 0))
        peer.connect((address, int(port)))
        peer.setblocking(False)
        left = memoryview(calls)

        def send_more():
            nonlocal left
            try:
                while left:
                    left = left[peer.send(left):]
            except (BlockingIOError, ConnectionError):  # the server closes peers that hold up others
                pass

        send_more()
        return send_more

    def test_who_takes_no_replies_delays_no_other(self):
        server = self.tcp_server(options=["--threads", "1"])
        (self.files / "big").write_bytes(noise(1 << 20))
        with TcpPeer(server.tcp[0]) as peer, TcpPeer(server.tcp[0], ("127.0.0.2", 0)) as neighbour:
            root = peer.mount("/files")
            arguments = opaque(peer.lookup(root, "big")) + struct.pack(">QI", 0, 1 << 20)
            before = server.counters()["calls"]
            for index in range(60):
                self.deaf_peer(server, "127.0.0.2", b"".join(record(call(100 + i, NFS, 3, READ, arguments)) for i in range(6)))
            wait_until(lambda: server.counters()["calls"] >= before + 240, "all calls that the server can read")
            for _ in range(10):
                self.assertEqual(peer.results(NFS, 3, READ, arguments)[:4], bytes(4))
            self.assertEqual(neighbour.results(NFS, 3, READ, arguments)[:4], bytes(4))
        self.assertIn("holds memory that other connections wait for", server.log())

    @unittest.skipIf("TSAN_OPTIONS" in os.environ, "the thread sanitizer multiplies memory")
    def test_memory_of_many_deaf_peers(self):
        # Disables the quarantine in which a sanitizer keeps freed memory.
        with mock.patch.dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0"):
            server = self.tcp_server(options=["--threads", "1"])
        (self.files / "many").mkdir()
        for index in range(2000):
            (self.files / "many" / f"{index:04}{'n' * 200}").touch()
        (self.files / "file").touch()
        with TcpPeer(server.tcp[0]) as peer:
            root = peer.mount("/files")
            many, file = peer.lookup(root, "many"), peer.lookup(root, "file")
            before = server.resident_kib()
            listing = record(call(1, NFS, 3, READDIR, opaque(many) + struct.pack(">Q8sI", 0, bytes(8), 262144)))
            write = record(call(2, NFS, 3, WRITE, opaque(file) + struct.pack(">QII", 0, 1 << 20, 0) + opaque(bytes(1 << 20))))
            half = struct.pack(">I", LAST | 1 << 20) + bytes(1 << 19)
            hosts = [f"127.0.0.{host}" for host in range(2, 22)]
            deaf = [self.deaf_peer(server, hosts[index % 20], (listing * 12, write * 8, half)[index % 3]) for index in range(200)]
            arguments = opaque(file) + struct.pack(">QII", 0, 1 << 20, 0) + opaque(bytes(1 << 20))
            for _ in range(20):
                for send_more in deaf:
                    send_more()
                self.assertEqual(peer.results(NFS, 3, WRITE, arguments)[:4], bytes(4))
            self.assertLess(server.resident_kib() - before, 256 << 10)

    def test_ipv6(self):
        server = self.tcp_server(tcp=("[::1]:0", "127.0.0.1:0"))
        self.assertRegex(server.ready, r" tcp=\[::1\]:\d+,127\.0\.0\.1:\d+$")
        for address in server.tcp:
            with TcpPeer(address) as peer:
                peer.mount("/files")


@iwarp_only("plain TCP alone")
class LongReads(TcpCase):
    """READs whose data goes from the page cache to the socket through a pipe."""
    SIZE = (3 << 20) + 5

    def setUp(self):
        super().setUp()
        self.content = noise(self.SIZE)
        self.one = self.tcp_server(options=["--threads", "1"])
        (self.files / "big").write_bytes(self.content)
        self.peer = TcpPeer(self.one.tcp[0])
        self.addCleanup(self.peer.close)
        self.big = self.peer.lookup(self.peer.mount("/files"), "big")

    def arguments(self, offset, count):
        return opaque(self.big) + struct.pack(">QI", offset, count)

    def data(self, results):
        """The data and eof of the results of a READ."""
        status, follows = struct.unpack_from(">II", results)
        self.assertEqual((status, follows), (0, 1))
        count, eof, length = struct.unpack_from(">III", results, 92)
        self.assertEqual((count, len(results)), (length, 104 + length + -length % 4))
        self.assertEqual(results[104 + length:], bytes(-length % 4))
        return results[104:104 + length], bool(eof)

    def test_all_offsets_and_lengths(self):
        for offset in (0, 1, 4095, 4096, 1 << 20, (2 << 20) + 7, self.SIZE - 200001, self.SIZE - 1, self.SIZE, 1 << 40):
            for count in (131071, 131072, 200003, 1 << 20):
                data, eof = self.data(self.peer.results(NFS, 3, READ, self.arguments(offset, count)))
                self.assertTrue(data == self.content[offset:offset + count], (offset, count))
                self.assertEqual(eof, offset + count >= self.SIZE)

    def test_more_at_a_time_than_there_are_pipes(self):
        peers = [TcpPeer(self.one.tcp[0]) for _ in range(50)]
        for peer in peers:
            self.addCleanup(peer.close)
        wait_until(lambda: self.one.counters()["tcp_connections"] == 51, "all connections")
        before = self.one.descriptors()
        for index, peer in enumerate(peers):
            peer.socket.sendall(record(call(index, NFS, 3, READ, self.arguments(index << 12, 1 << 20))))
        for index, peer in enumerate(peers):
            at = index << 12
            self.assertTrue(self.data(peer.reply()[24:])[0] == self.content[at:at + (1 << 20)], at)
        self.assertLessEqual(self.one.descriptors(), before + 2 * PIPES + 2)

    def test_many_calls_at_a_time(self):
        for index in range(20):
            self.peer.socket.sendall(record(call(index, NFS, 3, READ, self.arguments(index << 12, 1 << 20))))
        for _ in range(20):
            reply = self.peer.reply()
            at = struct.unpack_from(">I", reply)[0] << 12
            self.assertTrue(self.data(reply[24:])[0] == self.content[at:at + (1 << 20)], at)

    def test_connections_that_are_lost_between(self):
        self.peer.results(NFS, 3, READ, self.arguments(0, 1 << 20))
        before = self.one.descriptors()
        for index in range(30):
            with TcpPeer(self.one.tcp[0]) as lost:
                lost.socket.sendall(record(call(1, NFS, 3, READ, self.arguments(0, 1 << 20))))
                lost.receive(1 + 100000 * (index % 5))
                lost.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        data, _ = self.data(self.peer.results(NFS, 3, READ, self.arguments(4096, 1 << 20)))
        self.assertTrue(data == self.content[4096:4096 + (1 << 20)])
        wait_until(lambda: self.one.descriptors() <= before + 2 * PIPES, "the descriptors of no more pipes than may be open")

    def test_a_file_that_changes_its_length(self):
        for size in [*range(0, 1 << 20, 150001), 4096, 0, self.SIZE]:
            os.truncate(self.files / "big", size)
            data, eof = self.data(self.peer.results(NFS, 3, READ, self.arguments(0, 1 << 20)))
            self.assertEqual((len(data), eof), (min(size, 1 << 20), size <= 1 << 20))


class Mounts(TcpCase):
    """MNT over TCP accepts directories below an export as well."""

    def setUp(self):
        super().setUp()
        self.one = self.tcp_server()
        self.inner = self.files / "sub" / "inner"
        self.inner.mkdir(parents=True)
        (self.inner / "file").write_bytes(b"x")
        (self.files / "out").symlink_to("/")
        for link, target in (("in", "sub"), ("up", "../" * 20), ("ring", "sub/ring"), ("sub/ring", "../ring"),
                             ("sub/round", "../in/./inner/../inner"), ("to-file", "sub/inner/file")):
            (self.files / link).symlink_to(target)

    def test_directories_below_an_export(self):
        # [8267-5.1-a] MOUNT over TCP
        with TcpPeer(self.one.tcp[0]) as peer:
            deep = peer.mount("/files/sub/inner/")
            self.assertEqual(deep, peer.lookup(peer.lookup(peer.mount("/files"), "sub"), "inner"))
            self.assertEqual(peer.mount("/files//sub"), peer.mount("/files/sub"))
            peer.lookup(deep, "file")

    def test_links_that_stay_inside_are_followed(self):
        with TcpPeer(self.one.tcp[0]) as peer:
            for path, same in (("/files/in/inner", "/files/sub/inner"), ("/files/in/", "/files/sub"),
                               ("/files/in/round", "/files/sub/inner"), ("/files/up", "/files"),
                               ("/files/up/sub", "/files/sub")):
                self.assertEqual(peer.mount(path), peer.mount(same), path)

    def test_what_is_no_directory_below_one(self):
        with TcpPeer(self.one.tcp[0]) as peer:
            for path, status in (("/files/none", NOENT), ("/files/sub/inner/file", NOTDIR), ("/files/out", NOTDIR),
                                 ("/files/out/etc", NOTDIR), ("/files/ring", NOTDIR), ("/files/to-file", NOTDIR),
                                 ("/files/up/..", NOENT), ("/files/up/etc", NOENT), ("/files/..", NOENT),
                                 ("/files/sub/../sub", NOENT), ("/files/.", NOENT), ("/filesystem", NOENT),
                                 ("files/sub", NOENT), ("/", NOENT), ("", NOENT), ("/etc", NOENT)):
                self.assertEqual(self.mnt_status(peer, path), status, path)
            self.assertEqual(self.mnt_status(peer, b"/files/" + b"n" * 256), 63)
            self.assertEqual(self.mnt_status(peer, b"/files/a\0b"), ACCES)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to change owners")
    def test_below_a_folder_that_is_closed_to_who_mounts(self):
        home = self.files / "closed" / "home"
        home.mkdir(parents=True)
        os.chown(home, 1234, 1234)
        home.chmod(0o700)
        home.parent.chmod(0o700)
        squashing = self.tcp_server([f"{self.files}:/files,root_squash"], name="squashing")
        with TcpPeer(squashing.tcp[0]) as peer:
            handle = peer.mount("/files/closed/home")
            listing = opaque(handle) + bytes(16) + struct.pack(">I", 4096)
            for uid, status in ((0, ACCES), (1235, ACCES), (1234, 0)):
                results = peer.results(NFS, 3, READDIR, listing, uid=uid)
                self.assertEqual(struct.unpack_from(">I", results)[0], status, uid)
            self.assertEqual(self.mnt_status(peer, "/files/closed/none"), NOENT)

    def test_over_rdma_an_export_ends_where_it_says(self):
        self.nfs("rm", "-r", self.one.url("/files/sub/inner"))
        self.assertFalse(self.inner.exists())


class Callers(TcpCase):
    """Addresses and ports are checked at MNT and at every call."""

    @iwarp_only("plain TCP alone")
    def test_addresses(self):
        folder = self.folder / "a"
        folder.mkdir()
        server = self.tcp_server([f"{folder}:/a,allow=127.0.0.2/31", "memory:/m,allow=127.0.0.1,allow=::1"],
                                 tcp=("[::]:0",))
        port = server.tcp[0].rsplit(":", 1)[1]
        with TcpPeer(f"127.0.0.1:{port}", ("127.0.0.3", 0)) as near, TcpPeer(f"127.0.0.1:{port}") as far:
            handle = near.mount("/a")  # to an IPv6 socket, which sees an IPv4-mapped address
            self.assertEqual(self.mnt_status(near, "/m"), ACCES)
            self.assertEqual(self.mnt_status(far, "/a"), ACCES)
            far.mount("/m")
            self.assertEqual(far.results(NFS, 3, GETATTR, opaque(handle))[:4], struct.pack(">I", STALE))
            self.assertEqual(near.results(NFS, 3, GETATTR, opaque(handle))[:4], bytes(4))
            mounts = near.results(MOUNT, 3, DUMP, b"")
            self.assertIn(opaque(b"127.0.0.3") + opaque(b"/a"), mounts)
            self.assertNotIn(b"::ffff:", mounts)
        with TcpPeer(f"[::1]:{port}") as six:
            six.mount("/m")
            self.assertEqual(self.mnt_status(six, "/a"), ACCES)

    @iwarp_only("plain TCP alone")
    def test_both_families_at_one_port(self):
        port = next(port for port in range(20400, 20900) if self.free("127.0.0.1", port))
        for tcp in ((f"127.0.0.1:{port}", f"[::]:{port}"), (f"[::]:{port}", f"127.0.0.1:{port}")):
            self.tcp_server(["memory:/m"], tcp=tcp)
            for address in (f"127.0.0.1:{port}", f"[::1]:{port}"):
                with TcpPeer(address) as peer:
                    peer.mount("/m")
            self.assertEqual(self.servers.pop().stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root has reserved ports")
    def test_reserved_ports(self):
        server = self.tcp_server(["memory:/m,secure", "memory:/open"])
        port = next(port for port in range(1023, 600, -1) if self.free("127.0.0.1", port))
        with TcpPeer(server.tcp[0], ("127.0.0.1", port)) as root, TcpPeer(server.tcp[0]) as other:
            handle = root.mount("/m")
            self.assertEqual(self.mnt_status(other, "/m"), ACCES)
            other.mount("/open")
            self.assertEqual(other.results(NFS, 3, GETATTR, opaque(handle))[:4], struct.pack(">I", ACCES))
            self.assertEqual(root.results(NFS, 3, GETATTR, opaque(handle))[:4], bytes(4))
        self.nfs("ls", server.url("/m"))  # over RDMA there is no source port to check

    @staticmethod
    def free(host, port):
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                return False
            return True


@unittest.skipIf(missing_tools("nfs-ls", "nfs-cp", "nfs-cat"), "libnfs-utils is not installed")
class Libnfs(TcpCase):
    """libnfs, a client of another project."""

    def setUp(self):
        super().setUp()
        self.one = self.tcp_server()

    def url(self, path, more=""):
        host, port = self.one.tcp[0].rsplit(":", 1)
        return f"nfs://{host}{path}?nfsport={port}&mountport={port}{more}"

    def tool(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr.decode()}")
        return done.stdout

    def test_copies_in_and_out(self):
        content = noise((5 << 20) + 12345)
        (self.folder / "local").write_bytes(content)
        for export in ("/files", "/memory"):
            self.tool("nfs-cp", self.folder / "local", self.url(f"{export}/file"))
            self.tool("nfs-cp", self.url(f"{export}/file"), self.folder / "back")
            self.assertEqual((self.folder / "back").read_bytes(), content)
            (self.folder / "back").unlink()
            self.assertEqual(self.tool("nfs-cat", self.url(f"{export}/file")), content)
            self.assertEqual(self.nfs("cat", self.one.url(f"{export}/file")), content)
        self.assertEqual((self.files / "file").read_bytes(), content)

    def test_listings(self):
        (self.files / "sub").mkdir()
        for index in range(300):
            (self.files / "sub" / f"{index:03}{'n' * 100}").write_bytes(b"x" * index)
        top = self.tool("nfs-ls", self.url("/files")).decode().splitlines()
        self.assertEqual([line.split()[-1] for line in top], ["sub"])
        rows = [line.split() for line in self.tool("nfs-ls", self.url("/files/sub")).decode().splitlines()]
        self.assertEqual(sorted((row[-1][:3], int(row[-2])) for row in rows), [(f"{i:03}", i) for i in range(300)])
        walked = self.tool("nfs-ls", "-R", self.url("/files")).decode().splitlines()
        self.assertEqual(len(walked), 301)

    def test_a_file_in_a_directory(self):
        (self.files / "sub").mkdir()
        (self.files / "sub" / "file").write_bytes(b"deep")
        self.assertEqual(self.tool("nfs-cat", self.url("/files/sub/file")), b"deep")
        (self.folder / "local").write_bytes(b"put")
        self.tool("nfs-cp", self.folder / "local", self.url("/files/sub/new"))
        self.assertEqual((self.files / "sub" / "new").read_bytes(), b"put")

    def test_what_is_not_exported(self):
        done = subprocess.run(["nfs-ls", self.url("/etc")], stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * DEADLINE_S,
                              check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"NOENT", done.stdout + done.stderr)


@unittest.skipUnless(os.geteuid() == 0, "needs a network namespace")
@unittest.skipIf(missing_tools("rpcbind", "rpcinfo", "showmount", "nsenter", "ip"), "rpcbind or nfs-common is missing")
class Rpcbind(TcpCase):
    def setUp(self):
        super().setUp()
        self.space = Namespace()
        self.addCleanup(self.space.close)
        if not self.space.usable:
            self.skipTest("no namespaces here: " + self.space.holder.stderr.read())

    def tool(self, *command):
        done = self.space.run(*command)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def table(self):
        """(program, version, netid, address) of NFS and MOUNT."""
        rows = [line.split() for line in self.tool("/usr/sbin/rpcinfo").splitlines()[1:]]
        return {tuple(row[:4]) for row in rows if row[0] in ("100003", "100005")}

    def server_with(self, *options):
        return self.tcp_server(["memory:/m,allow=127.0.0.0/8,allow=::1", "memory:/any"], tcp=("0.0.0.0:2049", "[::1]:0"),
                               options=["--rpcbind", *options], listen=(f"{ADDRESS}:0", f"[{ADDRESS6}]:20050"),
                               prefix=self.space.prefix())

    def test_registered_and_taken_back(self):
        self.space.start_rpcbind()
        server = self.server_with()
        high, low = divmod(server.port, 256)
        six_high, six_low = divmod(int(server.tcp[1].rsplit(":", 1)[1]), 256)
        expected = {(program, "3", netid, address) for program in ("100003", "100005")
                    for netid, address in (("tcp", "0.0.0.0.8.1"), ("tcp6", f"::1.{six_high}.{six_low}"),
                                           ("rdma", f"{ADDRESS}.{high}.{low}"), ("rdma6", f"{ADDRESS6}.78.82"))}
        self.assertEqual(self.table(), expected)
        self.tool("/usr/sbin/rpcinfo", "-t", "127.0.0.1", "nfs", "3")
        self.tool("/usr/sbin/rpcinfo", "-t", "127.0.0.1", "mountd", "3")
        self.tool("/usr/sbin/rpcinfo", "-T", "tcp6", "::1", "nfs", "3")
        shown = self.tool("/usr/sbin/showmount", "-e", "127.0.0.1").splitlines()[1:]
        self.assertEqual({tuple(line.split()) for line in shown}, {("/m", "127.0.0.0/8,::1"), ("/any", "(everyone)")})
        self.tool("/usr/sbin/showmount", "-a", "127.0.0.1")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.table(), set())

    def test_killed_and_started_again(self):
        self.space.start_rpcbind()
        server = self.server_with()
        server.kill()
        self.assertNotEqual(self.table(), set())
        again = self.server_with_same_ports(server)
        self.assertEqual(again.stop(), 0)
        self.assertEqual(self.table(), set())

    def server_with_same_ports(self, before):
        return self.tcp_server(["memory:/m"], tcp=before.tcp, listen=before.rdma, options=["--rpcbind"], name="again",
                               prefix=self.space.prefix())

    def fails_to_start(self, *listens):
        done = self.space.run(os.path.join(os.environ["RPCRDMA_BIN"], "rpcrdma-nfsd"), "--fabric", FABRIC,
                              "--rpcbind", "--export", "memory:/m", "--state-dir", str(self.folder / "state"),
                              "--listen", f"{ADDRESS}:0", *listens)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_no_rpcbind(self):
        self.assertIn("rpcbind does not answer at /run/rpcbind.sock: No such file", self.fails_to_start())

    def test_somebody_else_is_registered(self):
        self.space.start_rpcbind()
        self.server_with()
        before = self.table()
        message = self.fails_to_start("--tcp-listen", "127.0.0.1:0")
        self.assertIn("rpcbind, program 100003 version 3 on tcp at 127.0.0.1.", message)
        self.assertIn("refused", message)
        self.assertEqual(self.table(), before)

    def test_told_to_end_while_it_registers(self):
        rpcbind = self.space.start_rpcbind()
        conversations = self.conversations()
        rpcbind.send_signal(signal.SIGSTOP)
        command = [*self.space.prefix(), os.path.join(os.environ["RPCRDMA_BIN"], "rpcrdma-nfsd"), "--fabric", FABRIC,
                   "--rpcbind", "--export", "memory:/m", "--state-dir", str(self.folder / "state"),
                   "--listen", f"{ADDRESS}:0"]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        wait_until(lambda: self.conversations() > conversations, "a connection to rpcbind")
        server.send_signal(signal.SIGTERM)
        rpcbind.send_signal(signal.SIGCONT)
        self.assertEqual(server.wait(DEADLINE_S), 0)
        self.assertEqual(self.table(), set())

    def conversations(self):
        """The number of open connections to rpcbind's local socket, accepted or not."""
        return self.tool("cat", "/proc/net/unix").count("/run/rpcbind.sock\n")

    def test_rpcbind_gone_at_the_end(self):
        rpcbind = self.space.start_rpcbind()
        server = self.server_with()
        rpcbind.kill()
        rpcbind.wait()
        self.assertEqual(server.stop(), 0)

    def test_rpcbind_that_hangs_does_not_keep_the_server(self):
        rpcbind = self.space.start_rpcbind()
        server = self.server_with()
        rpcbind.send_signal(signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(DEADLINE_S), 0)
        server.process.stdout.close()
