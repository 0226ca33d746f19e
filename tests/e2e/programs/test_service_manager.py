# SPDX-License-Identifier: BSD-3-Clause
"""The reports of the server to a service manager by the protocol of sd_notify(3). The test acts as the manager."""
import os
import signal
import socket
import time

from kit.case import Case
from kit.fabric import ADDRESS
from kit.waiting import DEADLINE_S


class ServiceManager(Case):
    def setUp(self):
        super().setUp()
        self.config = self.folder / "nfsd.toml"
        self.write_config("/first")

    def write_config(self, *names):
        self.config.write_text("".join(f"[[export]]\nmemory = true\nname = '{name}'\n" for name in names))

    def manager(self, name):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.settimeout(DEADLINE_S)
        listener.bind(name)
        return listener

    def managed(self, name, before=lambda listener: None, **environment):
        """Starts a server whose service manager listens on the socket `name`; an abstract name begins with @."""
        listener = self.manager("\0" + name[1:] if name.startswith("@") else name)
        before(listener)
        settings = [f"{key}={value}" for key, value in {"NOTIFY_SOCKET": name, **environment}.items()]
        server = self.server([], (f"{ADDRESS}:0",), ["--config", str(self.config)], prefix=("env", *settings))
        return server, listener

    def message(self, listener):
        """Returns the next message other than WATCHDOG=1."""
        while True:
            fields = dict(line.split("=", 1) for line in listener.recv(4096).decode().splitlines())
            if "WATCHDOG" not in fields:
                return fields

    def test_ready_reload_stop(self):
        server, manager = self.managed(str(self.folder / "notify"))
        self.assertEqual(self.message(manager), {"READY": "1", "STATUS": server.ready})
        self.write_config("/first", "/second")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.process.send_signal(signal.SIGHUP)
        reloading = self.message(manager)
        self.assertEqual(reloading["RELOADING"], "1")
        self.assertLessEqual(before, int(reloading["MONOTONIC_USEC"]))
        self.assertEqual(self.message(manager), {"READY": "1", "STATUS": server.ready})
        self.assertEqual(self.ls(server.url("/second")), [])
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.message(manager)["STOPPING"], "1")

    def test_ready_waits_for_room(self):
        """A manager that reads nothing for a while still gets READY=1."""
        name = str(self.folder / "notify")
        others = 0

        def fill(listener):
            nonlocal others
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
                other.setblocking(False)
                other.connect(listener.getsockname())
                with self.assertRaises(BlockingIOError):
                    while True:
                        other.send(b"OTHER=1")
                        others += 1

        server, manager = self.managed(name, before=fill)
        self.assertEqual(self.ls(server.url("/first")), [])
        for _ in range(others):
            self.assertEqual(self.message(manager), {"OTHER": "1"})
        self.assertEqual(self.message(manager)["READY"], "1")

    def test_failed_reload(self):
        server, manager = self.managed(f"@rpcrdma-test-{os.getpid()}")
        self.message(manager)
        self.config.write_text("nonsense = 1\n")
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(self.message(manager)["RELOADING"], "1")
        done = self.message(manager)
        self.assertEqual(done["READY"], "1")
        self.assertIn("configuration unchanged", done["STATUS"])
        self.assertIn("nonsense", done["STATUS"])
        self.assertEqual(self.ls(server.url("/first")), [])

    def test_watchdog(self):
        server, manager = self.managed(str(self.folder / "notify"), WATCHDOG_USEC="20000")
        self.message(manager)
        for _ in range(5):
            self.assertEqual(manager.recv(4096), b"WATCHDOG=1")
        # A stopped process sends no message.
        server.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)
        manager.setblocking(False)
        with self.assertRaises(BlockingIOError):
            while True:
                manager.recv(4096)
        with self.assertRaises(BlockingIOError):
            manager.recv(4096)
        manager.settimeout(DEADLINE_S)
        server.process.send_signal(signal.SIGCONT)
        self.assertEqual(manager.recv(4096), b"WATCHDOG=1")

    def test_watchdog_of_another_process(self):
        server, manager = self.managed(str(self.folder / "notify"), WATCHDOG_USEC="20000", WATCHDOG_PID="1")
        self.message(manager)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(manager.recv(4096).splitlines()[0], b"STOPPING=1")

    def test_no_manager(self):
        for name in ("", "relative", str(self.folder / "absent"), "/" + "x" * 200):
            server = self.server([], (f"{ADDRESS}:0",), ["--config", str(self.config)], name=f"server-{len(name)}",
                                 prefix=("env", f"NOTIFY_SOCKET={name}"))
            self.assertEqual(server.stop(), 0)
