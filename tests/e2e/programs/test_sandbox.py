# SPDX-License-Identifier: BSD-3-Clause
"""The sandbox of the server: the process gives up rights, and still serves."""
import ctypes
import os
import signal
from pathlib import Path

from kit.case import Case
from kit.fabric import ADDRESS
from kit.trees import write_noise
from kit.waiting import wait_until
from kit.wire.rpc import GETATTR, NFS, RpcPeer, opaque

SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))  # then no system call is filtered
MKNOD = 1 << 27
# CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, SETGID, SETUID, IPC_LOCK, SYS_RESOURCE; SYS_PTRACE for a sanitizer
KEPT = sum(1 << number for number in (0, 1, 2, 3, 4, 6, 7, 14, 24, *([19] if SANITIZED else [])))
SYS_LANDLOCK_CREATE_RULESET = 444


def landlock_version():
    return ctypes.CDLL(None, use_errno=True).syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, 1)


def status_lines(path):
    return dict(line.split(":\t", 1) for line in Path(path).read_text().splitlines() if ":\t" in line)


class Sandbox(Case):
    def setUp(self):
        super().setUp()
        self.local = self.folder / "local"
        self.local.write_bytes(b"content")
        self.config = self.folder / "nfsd.toml"

    def threads(self, server):
        """The status of every thread of a server that has served calls."""
        self.nfs("put", self.local, server.url("/files/a"))
        self.assertEqual(self.nfs("cat", server.url("/files/a")), b"content")
        found = [status_lines(task / "status") for task in Path(f"/proc/{server.pid}/task").iterdir()]
        self.assertGreater(len(found), 10, "event loops and I/O threads")
        return found

    def capabilities(self, status, kind="CapPrm"):
        return int(status[kind], 16)

    def write_config(self, *exports):
        self.config.write_text("".join("[[export]]\n" + export + "\n" for export in exports))

    def directory(self, name, more=""):
        (self.folder / name).mkdir(exist_ok=True)
        return f"directory = '{self.folder / name}'\nname = '/{name}'\nsquash = 'none'\n{more}"

    def reload(self, server, says):
        before = server.log().count(says)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log().count(says) > before, f"a line with {says!r}")

    def test_every_thread_is_confined(self):
        mine = status_lines("/proc/self/status")
        for status in self.threads(self.server(options=["--tcp-listen", "127.0.0.1:0"])):
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(self.capabilities(status), self.capabilities(mine) & KEPT)
            self.assertEqual(self.capabilities(status, "CapEff") & ~KEPT, 0)
            self.assertEqual(self.capabilities(status, "CapInh"), 0)
            if not SANITIZED:
                self.assertEqual(status["Seccomp"], "2")

    def test_off(self):
        mine = status_lines("/proc/self/status")
        for status in self.threads(self.server(options=["--sandbox", "off"])):
            for line in ("NoNewPrivs", "Seccomp", "CapPrm"):
                self.assertEqual(status[line], mine[line])

    def test_log_serves(self):
        for status in self.threads(self.server(options=["--sandbox", "log"])):
            self.assertEqual(status["NoNewPrivs"], "1")

    def test_a_reload_adds_directories(self):
        self.write_config(self.directory("files"))
        server = self.server([], options=["--config", str(self.config)])
        self.write_config(self.directory("files"), self.directory("more"))
        self.reload(server, "2 exports")
        self.nfs("put", self.local, server.url("/more/a"))
        self.assertEqual((self.folder / "more/a").read_bytes(), b"content")

    def test_a_reload_adds_no_right_to_make_devices(self):
        self.write_config(self.directory("files"))
        server = self.server([], options=["--config", str(self.config)])
        self.write_config(self.directory("files", "devices = true"))
        self.reload(server, "configuration unchanged: ")
        self.assertIn("/files: the server has given up the right to make devices: restart it", server.log())
        self.nfs("put", self.local, server.url("/files/a"))
        self.assertEqual(server.stop(), 0)
        server.start()
        mine = status_lines("/proc/self/status")
        for status in self.threads(server):
            self.assertEqual(self.capabilities(status), self.capabilities(mine) & (KEPT | MKNOD))

    def test_strict(self):
        files = self.folder / "files"
        files.mkdir()
        self.write_config(self.directory("files"), self.directory("readable", "read-only = true"))
        (self.folder / "readable" / "b").write_bytes(b"readable")
        options = ["--config", str(self.config), "--sandbox", "strict"]
        if landlock_version() < 2:
            done = self.run_program("rpcrdma-nfsd", *options, "--state-dir", self.folder / "state", "--listen",
                                    f"{ADDRESS}:0")
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"--sandbox strict: Landlock: ", done.stderr)
            return
        server = self.server([], options=options)
        self.threads(server)
        self.assertEqual(self.nfs("cat", server.url("/readable/b")), b"readable")
        tree = self.folder / "tree"
        (tree / "sub").mkdir(parents=True)
        write_noise(tree / "sub" / "big", 3 << 20)
        self.nfs("put", "-r", tree, server.url("/files/tree"))
        self.nfs("mv", server.url("/files/tree/sub/big"), server.url("/files/tree/moved"))
        self.nfs("ln", server.url("/files/tree/moved"), server.url("/files/tree/sub/link"))
        self.nfs("ln", "-s", "moved", server.url("/files/tree/symbolic"))
        self.nfs("chmod", "600", server.url("/files/tree/moved"))
        self.nfs("truncate", "5", server.url("/files/a"))
        self.nfs("get", "-r", server.url("/files/tree"), self.folder / "back")
        self.assertEqual((self.folder / "back/moved").read_bytes(), (tree / "sub/big").read_bytes())
        with RpcPeer(server.address) as peer:
            handle = peer.lookup(peer.mount("/files"), "a")
        server.kill()
        server.start()
        with RpcPeer(server.address) as peer:
            self.assertEqual(peer.results(NFS, 3, GETATTR, opaque(handle))[:4], bytes(4))
        self.nfs("rm", "-r", server.url("/files/tree"))
        self.reload(server, "configuration unchanged: the exports of a server with --sandbox strict are fixed")
        self.assertEqual(self.nfs("cat", server.url("/files/a")), b"conte")

    def test_wrong_word(self):
        done = self.run_program("rpcrdma-nfsd", "--export", "memory:/m", "--sandbox", "loose")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--sandbox: not on, off, strict or log: 'loose'", done.stderr)
