# SPDX-License-Identifier: BSD-3-Clause
"""A configuration file: its exports are served; at SIGHUP the server rereads it; an invalid file changes nothing."""
import re
import signal
import subprocess

from kit.case import Case
from kit.fabric import ADDRESS, ADDRESS6, FABRIC
from kit.server import binary
from kit.trees import noise
from kit.waiting import scaled, wait_until
from kit.wire.rpc import CREATE, GETATTR, NFS, RpcPeer, opaque

STALE, ROFS = 70, 30


class Config(Case):
    def setUp(self):
        super().setUp()
        self.config = self.folder / "nfsd.toml"
        self.data = self.folder / "data"
        self.data.mkdir()
        (self.data / "file").write_bytes(b"content")

    def export(self, *lines, name="/data"):
        return "\n".join(["[[export]]", f"directory = '{self.data}'", f"name = '{name}'", *lines, ""])

    def configured(self, *parts, listen=(f"{ADDRESS}:0",), exports=(), options=()):
        self.config.write_text("\n".join(parts))
        return self.server(exports, listen, ["--config", str(self.config), *options])

    def reload(self, server, *parts, says):
        """Writes a new configuration and sends SIGHUP; returns the lines that the server logs."""
        self.config.write_text("\n".join(parts))
        before = len(server.log().splitlines())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any(says in line for line in server.log().splitlines()[before:]), f"a line with {says!r}")
        return server.log().splitlines()[before:]

    def status(self, peer, handle, procedure=GETATTR, arguments=b""):
        return int.from_bytes(peer.results(NFS, 3, procedure, opaque(handle) + arguments)[:4], "big")

    def test_a_file_alone(self):
        server = self.configured(f"listen = ['{ADDRESS}:0', '{FABRIC}@[{ADDRESS6}]:0']", "tcp-listen = ['127.0.0.1:0']",
                                 "threads = 2", self.export("squash = 'none'"), "[[export]]", "memory = true",
                                 "name = '/scratch'", listen=())
        self.assertRegex(server.ready, rf"^ready rdma={re.escape(ADDRESS)}:\d+,\[{ADDRESS6}\]:\d+ "
                                       rf"fabric={FABRIC},{FABRIC} tcp=127\.0\.0\.1:\d+$")
        self.assertEqual(self.nfs("cat", server.url("/data/file")), b"content")
        self.assertEqual(self.ls(server.url("/scratch")), [])

    def test_root_is_squashed_unless_the_file_says_otherwise(self):
        server = self.configured("[[export]]", "memory = true", "name = '/m'", "anonuid = 1234", "[[export]]",
                                 "memory = true", "name = '/trusting'", "squash = 'none'")
        (self.folder / "local").write_bytes(b"x")
        for export, owner in (("/m", "1234"), ("/trusting", "root")):
            self.nfs("--uid", "0", "--gid", "0", "put", self.folder / "local", server.url(f"{export}/f"))
            self.assertEqual(self.nfs("ls", "-l", server.url(export)).split()[2].decode(), owner)

    def test_size_of_a_memory_export(self):
        server = self.configured("[[export]]", "memory = true", "name = '/m'", "size = '1M'", "squash = 'none'")
        (self.folder / "small").write_bytes(noise(900 << 10))
        (self.folder / "large").write_bytes(noise(1100 << 10))
        self.assertIn("No space left", self.nfs_fails("put", self.folder / "large", server.url("/m/large")))
        self.nfs("rm", server.url("/m/large"))
        self.nfs("put", self.folder / "small", server.url("/m/small"))

    def test_broken_files_at_the_start(self):
        for text, line in (("threads = 0\n", 1), (self.export() + "size = '1G'\n", 1), ("\n\n[[exports]]\n", 3),
                           (self.export() + "clients = ['10.0.0.0/40']\n", 4), ("a = [", 1)):
            self.config.write_text(text)
            done = self.run_program("rpcrdma-nfsd", "--config", self.config, "--listen", "127.0.0.1:0")
            self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertIn(f"{self.config}:{line}: ".encode(), done.stderr)
        self.config.write_text(self.export() + "\n[[export]]\ndirectory = '/does/not/exist'\n")
        done = self.run_program("rpcrdma-nfsd", "--config", self.config, "--listen", "127.0.0.1:0", "--state-dir",
                                self.folder / "state")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertEqual(done.stderr.decode().strip(),
                         f"rpcrdma-nfsd: {self.config}:5: /does/not/exist: No such file or directory")

    def test_reload(self):
        server = self.configured(self.export("squash = 'none'"), exports=["memory:/flag"])
        (self.folder / "local").write_bytes(b"kept")
        self.nfs("put", self.folder / "local", server.url("/flag/kept"))
        with RpcPeer(server.address) as peer:
            handle = peer.lookup(peer.mount("/data"), "file")
            more = ["[[export]]", "memory = true", "name = '/more'"]
            self.reload(server, self.export("read-only = true", "squash = 'none'"), *more, says="3 exports")
            self.assertEqual(self.status(peer, handle), 0)
            root = peer.mount("/data")
            self.assertEqual(self.status(peer, root, CREATE, opaque(b"new") + bytes(28)), ROFS)
            self.assertEqual(self.ls(server.url("/more")), [])
            self.reload(server, self.export("clients = ['192.0.2.1']"), says="2 exports")
            self.assertEqual(self.status(peer, handle), STALE)
            self.nfs_fails("ls", server.url("/more"))
            self.reload(server, "", says="1 exports")
            self.assertEqual(self.status(peer, handle), STALE)
            self.reload(server, self.export(), says="2 exports")
            self.assertEqual(self.status(peer, handle), 0)
        self.assertEqual(self.nfs("cat", server.url("/flag/kept")), b"kept")

    def test_a_broken_file_changes_nothing(self):
        server = self.configured(self.export("squash = 'none'"))
        with RpcPeer(server.address) as peer:
            handle = peer.mount("/data")
            for text, why in (("threads = \n", f"{self.config}:1: "), (self.export("color = 1"), f"{self.config}:4: "),
                              (self.export() + self.export(), f"{self.config}:4: two exports are named /data"),
                              (self.export() + "\n[[export]]\ndirectory = '/does/not/exist'\n",
                               f"{self.config}:5: /does/not/exist: No such file")):
                lines = self.reload(server, text, says="configuration unchanged: ")
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(why, lines[0])
                self.assertEqual(self.status(peer, handle), 0)
            self.config.unlink()
            self.config.mkdir()
            before = server.log().count("configuration unchanged")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: server.log().count("configuration unchanged") > before, "a line about a folder")
            self.assertEqual(self.status(peer, handle), 0)

    def test_what_takes_a_restart_is_told(self):
        server = self.configured(self.export())
        self.reload(server, "threads = 7", self.export(), says="take effect after a restart")

    def test_calls_go_on_meanwhile(self):
        server = self.configured(self.export("squash = 'none'"), options=["--threads", "2"])
        content = noise(scaled(24, 24) << 20)
        (self.folder / "local").write_bytes(content)
        client = subprocess.Popen([binary("rpcrdma-nfs"), "--fabric", FABRIC, "put", str(self.folder / "local"),
                                   server.url("/data/big")], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(client.stderr.close)
        self.addCleanup(client.kill)
        rounds = 0
        while client.poll() is None or rounds < 20:
            flag = "true" if rounds % 2 else "false"
            count = server.log().count(" 2 exports")
            self.config.write_text(self.export("squash = 'none'", f"sync = {flag}") +
                                   f"[[export]]\nmemory = true\nname = '/m{rounds}'\n")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: server.log().count(" 2 exports") > count, "the new exports")
            rounds += 1
        self.assertEqual(client.wait(), 0, client.stderr.read())
        self.assertEqual((self.data / "big").read_bytes(), content)
