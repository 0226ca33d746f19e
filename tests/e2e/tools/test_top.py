# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-top in a terminal, while clients call the server and when the server goes away."""
import re
import shlex
import signal
import sys
from pathlib import Path

from kit.case import Case
from kit.load import Load
from kit.metrics import OPTIONS, stats
from kit.tmux import Terminal, needs_tmux
from kit.waiting import wait_until

TOP = Path(__file__).resolve().parents[3] / "tools" / "top" / "rpcrdma-top"
MODES = "clear; stty -a | tr ' ' '\\n' | grep -xE -e '-?(icanon|echo)' | tr '\\n' ' '"


@needs_tmux
class Top(Case):
    timeout_s = 240
    address = None  # the address that rpcrdma-top was started with

    def terminal(self, width=80, height=24):
        return self.enterContext(Terminal(self.folder / "tmux", width, height))

    def start(self, terminal, address, *options):
        self.address = address
        terminal.enter(shlex.join([sys.executable, "-B", str(TOP), *options, address]) + "; echo status=$?")

    def ended(self, terminal, status=0):
        """Checks that the shell has its terminal back, in its former state."""
        terminal.wait_for(f"status={status}")
        self.assertFalse(terminal.flag("alternate_on"))
        self.assertTrue(terminal.flag("cursor_flag"))
        # The command line is shown again: as many of its lines as fit.
        self.assertNotIn("procedure", terminal.text())
        self.assertIn(self.address, "".join(terminal.lines()))
        terminal.enter(MODES)
        terminal.wait_for("icanon echo")

    def answered(self, terminal):
        wait_until(lambda: terminal.lines()[0].startswith("rpcrdma-nfsd "), "a table without a message",
                   interval_s=0.05)

    def fits(self, lines, width, height):
        self.assertLessEqual(len(lines), height)
        self.assertLessEqual(max(map(len, lines)), width)

    def section(self, lines, title):
        """{first word of the row: the row's words by title} of a table."""
        start = next(i for i, line in enumerate(lines) if line.startswith(title + " "))
        names, rows = lines[start].split(), {}
        for line in lines[start + 1:]:
            if not line:
                break
            rows[line.split()[0]] = dict(zip(names, line.split()))
        return rows

    def check(self, lines, width, height, before, after):
        """Checks the table under load, which shows what the server has done between two reports."""
        self.fits(lines, width, height)
        self.assertRegex(" ".join(lines), r"^rpcrdma-nfsd \S+ at \S+ +up \d+:\d\d +connections [12] +cpu \d+% +"
                                          r"resident \S+B +calls \S+/s +received \S+/s +sent \S+/s +errors 0 +waits: ")
        # Columns are left out, not cut.
        self.assertTrue(any(re.match(r"procedure .* errors$", line) for line in lines))
        self.assertTrue(any(re.match(r"connection .* (credits|fabric)$", line) for line in lines))
        procedures = self.section(lines, "procedure")
        called = {one["procedure"] for one in before["procedures"] if one["program"] == "nfs"}
        self.assertLessEqual({"NULL", "READ", "WRITE"}, called)
        self.assertLessEqual(called, set(procedures))
        self.assertRegex(procedures["NULL"]["calls/s"], r"^[0-9.]+k?$")
        self.assertNotEqual(procedures["NULL"]["calls/s"], "0")
        self.assertRegex(procedures["NULL"]["p99"], r"^[0-9.]+[num]?s$")
        ping = Load.connection_of_ping(after)
        row = self.section(lines, "connection")[str(ping["connection"])]
        self.assertEqual((row["peer"], row["credits"]), (ping["peer"], str(ping["credits"])))
        self.assertNotEqual(row["calls/s"], "0")

    def test_sizes_under_load(self):
        server = self.server(options=OPTIONS)
        terminal = self.terminal()
        with Load(self, server):
            self.start(terminal, server.metrics)
            before = stats(server)
            lines = terminal.wait_for("procedure ", "NULL", "connection ")
            self.check(lines, 80, 24, before, stats(server))
            self.assertFalse([line for line in lines if "invalidates" in line])
            terminal.resize(120, 40)
            lines = terminal.wait_for("listener ", "invalidates", "NULL")
            self.check(lines, 120, 40, before, stats(server))
            row = self.section(lines, "listener")[server.address]
            self.assertEqual((row["refused"], row["errors"], row["fabric"]), ("0", "0", server.fabric[0]))
            terminal.resize(40, 10)
            self.fits(wait_until(lambda: self.small(terminal), "a small table", interval_s=0.05), 40, 10)
            terminal.press("q")
            self.ended(terminal)

    def small(self, terminal):
        lines = terminal.lines()
        fresh = lines[0].startswith("rpcrdma-nfsd") and not any("listener" in line for line in lines)
        return lines if fresh and len(lines) < 10 else None

    def test_a_resize_redraws_at_once(self):
        server = self.server(options=OPTIONS)
        terminal = self.terminal(30, 10)
        self.start(terminal, server.metrics, "--interval", "3600")
        self.assertEqual(terminal.wait_for("rpcrdma-nfsd at ")[-1], f"rpcrdma-nfsd at {server.metrics}"[:30])
        terminal.resize(80, 24)
        terminal.wait_for("rates follow after 3600 s")
        terminal.press("q")
        self.ended(terminal)

    def test_keys(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        terminal = self.terminal()
        for key in ("q", "C-c", "Q"):
            terminal.enter("clear")
            self.start(terminal, server.metrics, "--interval", "0.1")
            terminal.wait_for("READDIR")
            self.assertTrue(terminal.flag("alternate_on"))
            self.assertFalse(terminal.flag("cursor_flag"))
            terminal.press("x")  # has no meaning
            terminal.press(key)
            self.ended(terminal)

    def test_suspended_and_resumed(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        terminal = self.terminal()
        self.start(terminal, server.metrics, "--interval", "0.1")
        terminal.wait_for("READDIR")
        terminal.press("C-z")
        terminal.wait_for("Stopped")
        self.assertFalse(terminal.flag("alternate_on"))
        self.assertTrue(terminal.flag("cursor_flag"))
        terminal.enter("clear; fg; echo status=$?")
        terminal.wait_for("READDIR")
        self.assertTrue(terminal.flag("alternate_on"))
        terminal.press("q")
        self.ended(terminal)

    def test_a_server_that_goes_away_and_comes_back(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        terminal = self.terminal()
        self.start(terminal, server.metrics, "--interval", "0.1")
        terminal.wait_for("READDIR")
        address = server.metrics
        server.kill()
        lines = terminal.wait_for("NO ANSWER", "refused", "READDIR")
        self.fits(lines, 80, 24)
        self.assertRegex(" ".join(lines), r"^NO ANSWER for \d+ s, trying again; these numbers are old: ")
        server.options = ["--metrics", address]
        server.start()
        self.nfs("stat", server.url("memory"))
        self.answered(terminal)
        self.assertNotIn("READDIR", self.section(terminal.wait_for("GETATTR"), "procedure"))
        terminal.press("q")
        self.ended(terminal)

    def test_a_server_that_hangs(self):
        """Before the request times out, the table says that the server does not answer. Keys work meanwhile."""
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        terminal = self.terminal()
        self.start(terminal, server.metrics, "--interval", "0.1")
        terminal.wait_for("READDIR")
        server.process.send_signal(signal.SIGSTOP)
        try:
            terminal.wait_for("NO ANSWER", f"these numbers are old: {server.metrics}")
        finally:
            server.process.send_signal(signal.SIGCONT)
        self.answered(terminal)
        server.process.send_signal(signal.SIGSTOP)
        try:
            terminal.wait_for("NO ANSWER")
            terminal.press("q")
            self.ended(terminal)
        finally:
            server.process.send_signal(signal.SIGCONT)

    def test_a_server_that_never_answered(self):
        server = self.server(options=OPTIONS)
        server.kill()
        terminal = self.terminal()
        self.start(terminal, server.metrics)
        terminal.wait_for("rpcrdma-top: ", "refused")
        self.ended(terminal, status=1)
