# SPDX-License-Identifier: BSD-3-Clause
"""Statistics by HTTP: their sums compared with the calls of clients, hostile requests, and programs that show them."""
import concurrent.futures
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import unittest
from pathlib import Path

from kit.case import Case
from kit.metrics import OPTIONS, fetch, scrape, stats, sum_of
from kit.trees import noise
from kit.waiting import DEADLINE_S, scaled, wait_until
from kit.wire import pcapng

SIZE = 3_000_000
DASHBOARD = Path(__file__).resolve().parents[3] / "docs" / "grafana-rpcrdma.json"
TOP = Path(__file__).resolve().parents[3] / "tools" / "top" / "rpcrdma-top"


class Sums(Case):
    def test_files_there_and_back(self):
        server = self.server(options=OPTIONS)
        source = self.folder / "source"
        source.write_bytes(noise(SIZE, 1))
        self.nfs("put", source, server.url("memory/f"))
        self.nfs("get", server.url("memory/f"), self.folder / "back")
        wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connections")
        found = scrape(server)
        counters = server.counters()
        self.assertEqual(sum_of(found, "rpcrdma_calls_total"), counters["calls"])
        self.assertEqual(sum_of(found, "rpcrdma_call_duration_seconds_count"), counters["calls"])
        self.assertEqual(sum_of(found, "rpcrdma_operations_total", operation="receive"), counters["calls"])
        self.assertEqual(sum_of(found, "rpcrdma_operations_total", operation="send"), counters["calls"])
        self.assertEqual(sum_of(found, "rpcrdma_operation_bytes_total", operation="read"), SIZE)
        self.assertEqual(sum_of(found, "rpcrdma_operation_bytes_total", operation="write"), SIZE)
        self.assertEqual(sum_of(found, "rpcrdma_connections_accepted_total"), 2)
        self.assertEqual(sum_of(found, "rpcrdma_connections"), 0)
        self.assertEqual(sum_of(found, "rpcrdma_errors_total"), 0)
        writes = sum_of(found, "rpcrdma_calls_total", procedure="WRITE")
        self.assertEqual(sum_of(found, "rpcrdma_call_forms_total", form="read_chunk"), writes)
        reads = sum_of(found, "rpcrdma_calls_total", procedure="READ")
        self.assertEqual(sum_of(found, "rpcrdma_call_forms_total", form="write_chunk"), reads)

    def test_calls_of_pings_while_scraped(self):
        count, clients = scaled(20000, 2000, 200), 4
        server = self.server(options=[*OPTIONS, "--threads", "2"])
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            pings = [pool.submit(self.run_program, "rpcrdma-ping", "--count", str(count), server.address)
                     for _ in range(clients)]
            seen = []
            while not all(ping.done() for ping in pings):
                seen.append(sum_of(scrape(server), "rpcrdma_calls_total"))
        for ping in pings:
            self.assertEqual(ping.result().returncode, 0, ping.result().stderr)
        self.assertEqual(seen, sorted(seen), "counters never fall")
        # rpcrdma-ping makes some calls before those that it counts.
        total = server.counters()["calls"]
        self.assertGreaterEqual(total, clients * count)
        # A report by HTTP may be some time old.
        wait_until(lambda: sum_of(scrape(server), "rpcrdma_calls_total", procedure="NULL") >= total, "a new report")
        self.assertEqual(sum_of(scrape(server), "rpcrdma_calls_total", procedure="NULL"), total)

    def test_errors_by_status(self):
        server = self.server(options=OPTIONS)
        for _ in range(3):
            self.nfs_fails("stat", server.url("memory/none"))
        self.assertGreaterEqual(sum_of(scrape(server), "rpcrdma_failures_total", procedure="LOOKUP", status="2"), 3)

    def test_chunks_by_procedure_and_traffic_by_listener(self):
        server = self.server(options=OPTIONS)
        source = self.folder / "source"
        source.write_bytes(os.urandom(300_000))
        self.nfs("put", source, server.url("memory/f"))
        self.nfs("get", server.url("memory/f"), self.folder / "copy")
        wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connection")
        seen = stats(server)
        procedures = {one["procedure"]: one for one in seen["procedures"]}
        for name, form in (("WRITE", "read_chunk"), ("READ", "write_chunk")):
            one = procedures[name]
            self.assertGreater(one["calls"], 0)
            self.assertEqual(one["chunks"][form], one["calls"], name)
            self.assertEqual(sum_of(scrape(server), "rpcrdma_procedure_forms_total", procedure=name, form=form), one["calls"])
        for form in ("inline", "long", "read_chunk", "write_chunk", "reply_chunk"):
            self.assertEqual(sum(one["chunks"][form] for one in seen["procedures"]),
                             sum(one["traffic"][f"{form}_calls"] for one in seen["fabrics"]), form)
        listener, = seen["listeners"]
        self.assertEqual(listener["traffic"], seen["fabrics"][0]["traffic"], "the only listener")
        self.assertGreater(listener["traffic"]["write_bytes"], 299_999)
        self.assertEqual(sum_of(scrape(server), "rpcrdma_listener_calls_total"), listener["traffic"]["calls"])

    def test_the_capture_is_counted(self):
        self.assertIsNone(stats(self.server(name="none", options=OPTIONS))["capture"])
        file = self.folder / "trace.pcapng"
        server = self.server(options=[*OPTIONS, "--capture", file])
        self.nfs("ls", server.url("memory"))
        wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connection")

        def recorded():
            try:
                return len(list(pcapng.packets(file)))
            except (AssertionError, struct.error):  # the server is writing the last block
                return None

        def all_counted():
            seen = stats(server)["capture"]
            return 0 < seen["frames"] == recorded() and seen["bytes"] == file.stat().st_size

        wait_until(all_counted, "the last frame")
        seen = stats(server)["capture"]
        self.assertEqual((seen["running"], seen["dropped"], seen["bytes"]), (True, 0, file.stat().st_size))
        self.assertEqual(sum_of(scrape(server), "rpcrdma_capture_frames_total"), seen["frames"])
        server.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: sum_of(scrape(server), "rpcrdma_capture_running") == 0, "the capture has stopped")

    def test_the_dashboard_names_what_is_served(self):
        server = self.server(options=OPTIONS)
        self.nfs_fails("stat", server.url("memory/none"))
        labels = {}
        for name, values in scrape(server):
            labels.setdefault(name, set()).update(label for label, _ in values)
        panels = json.loads(DASHBOARD.read_text())["panels"]
        for expression in (target["expr"] for panel in panels for target in panel["targets"]):
            names = re.findall(r"\b(?:rpcrdma|process)_\w+", expression)
            self.assertTrue(names, expression)
            for name in names:
                self.assertIn(name, labels, expression)
            for label in re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", expression))):
                self.assertIn(label, labels[names[0]], expression)

    def test_labels_do_not_depend_on_clients(self):
        server = self.server(options=OPTIONS)
        self.nfs_fails("stat", server.url("memory/none"))
        self.nfs("ls", server.url("memory"))
        before = set(scrape(server))
        for i in range(scaled(100, 12, 3)):
            self.nfs_fails("stat", server.url(f'memory/x"%0A{i}'))
            self.nfs_fails("ls", server.url(f'none"{{}}{i}'))
        after = scrape(server)
        families = {name for name, _ in set(after) - before}
        self.assertLessEqual(families, {"rpcrdma_failures_total"}, "a status of MOUNT at most")
        self.assertLessEqual(len(set(after) - before), 4)

    def test_connections_of_a_mounted_client(self):
        server = self.server(options=OPTIONS)
        ping = subprocess.Popen([Path(os.environ["RPCRDMA_BIN"]) / "rpcrdma-ping", "--count", "100000000", server.address],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: stats(server)["busiest_connections"] and stats(server)["busiest_connections"][0]["calls"] > 10,
                       "a connection with calls")
            one = stats(server)["busiest_connections"][0]
            self.assertRegex(one["peer"], r":\d+$")
            self.assertEqual(one["traffic"]["inline_calls"], one["traffic"]["calls"])
            self.assertGreater(one["credits"], 0)
            self.assertEqual([procedure["procedure"] for procedure in one["procedures"]], ["NULL"])
            self.assertEqual(one["procedures"][0]["calls"], one["calls"])
        finally:
            ping.kill()
            ping.wait()
        wait_until(lambda: not stats(server)["busiest_connections"], "the connection's end")


class Http(Case):
    def test_the_page_needs_nothing_else(self):
        server = self.server(options=OPTIONS)
        status, headers, body = fetch(server, "/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        text = body.decode()
        self.assertNotRegex(text, r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", "no outside resources")
        self.assertIn("stats.json", text)

    def test_paths_and_methods(self):
        server = self.server(options=OPTIONS)
        self.assertEqual(fetch(server, "/healthz")[::2], (200, b"ok\n"))
        self.assertEqual(fetch(server, "/metrics?a=b")[0], 200)
        self.assertEqual(fetch(server, "/metrics", "HEAD")[::2], (200, b""))
        for path in ("/x", "/../etc/passwd", "/metrics/", "//metrics", "/" + "a" * 4000):
            self.assertEqual(fetch(server, path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            self.assertEqual(fetch(server, "/metrics", method)[0], 405, method)

    def test_hosts_against_rebinding(self):
        server = self.server(options=OPTIONS)
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1:9110", "192.0.2.7", "[::1]", "[2001:db8::1]:443",
                     socket.gethostname()):
            self.assertEqual(fetch(server, "/healthz", Host=host)[0], 200, host)
        for host in ("attacker.example", "localhost.attacker.example:9110", "127.0.0.1.attacker.example", "x", "", ":80",
                     "[::1", "[::1]x", "[attacker.example]", "::1", "localhost:x", "127.0.0.1:80:80", "127.0.0.1, x", "a" * 4000):
            for path in ("/", "/metrics", "/stats.json", "/healthz"):
                self.assertEqual(fetch(server, path, Host=host)[0], 403, host)
        for request, status in ((b"GET /healthz HTTP/1.1\r\n\r\n", b"400"),
                                (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: x\r\nConnection: close\r\n\r\n", b"400"),
                                (b"GET /healthz HTTP/1.0\r\n\r\n", b"200")):
            with self.connect(server) as peer:
                peer.sendall(request)
                self.assertEqual(peer.makefile("rb").readline().split()[1], status, request)

    def test_hosts_of_a_public_address(self):
        server = self.server(options=("--metrics", "0.0.0.0:0"))
        for host in ("monitoring.example:9110", "localhost", "192.0.2.7"):
            self.assertEqual(fetch(server, "/healthz", Host=host)[0], 200, host)

    def connect(self, server):
        host, port = server.metrics.rsplit(":", 1)
        return socket.create_connection((host, int(port)), DEADLINE_S)

    def exchange(self, server, request):
        """The bytes that the server sends until it closes the connection; none after a reset."""
        with self.connect(server) as peer:
            out = b""
            try:
                peer.sendall(request)
                while part := peer.recv(65536):
                    out += part
            except (ConnectionResetError, BrokenPipeError):
                pass
            return out

    def test_garbage(self):
        server = self.server(options=OPTIONS)
        for request in (b"\r\n\r\n\r\n\r\nx\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, b"GET\r\n\r\n",
                        b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"\0" * 5000,
                        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 10_000 + b"\r\n",
                        b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                        b"GET / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + b"b" * 1_000_000):
            answer = self.exchange(server, request)
            self.assertNotIn(b" 200 ", answer[:20], request[:40])
            self.assertEqual(fetch(server, "/healthz")[0], 200, request[:40])
        self.nfs("ls", server.url("memory"))

    def test_slow_requests_keep_nobody_out(self):
        server = self.server(options=OPTIONS)
        peers = []
        try:
            for _ in range(100):  # more than the server keeps
                peers.append(self.connect(server))
                peers[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost")
            self.assertEqual(fetch(server, "/healthz")[0], 200)
            # The server ends all of them: new connections replace them, or the time limit for a request expires.
            for peer in peers:
                peer.settimeout(DEADLINE_S)
                try:
                    self.assertEqual(peer.recv(1), b"")
                except ConnectionResetError:
                    pass
        finally:
            for peer in peers:
                peer.close()
        self.assertEqual(fetch(server, "/healthz")[0], 200)

    def test_one_connection_for_several_requests(self):
        server = self.server(options=OPTIONS)
        with self.connect(server) as peer:
            reader = peer.makefile("rb")
            for _ in range(3):
                peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertIn(b"200 OK", reader.readline())
                while reader.readline().strip():
                    pass
                self.assertEqual(reader.read(3), b"ok\n")

    def test_a_stop_with_open_requests(self):
        server = self.server(options=OPTIONS)
        with self.connect(server) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\n")
            self.assertEqual(fetch(server, "/healthz")[0], 200)
            self.assertEqual(server.stop(), 0)

    def test_options(self):
        for value in ("x", "127.0.0.1", "127.0.0.1:99999", "nohost:80", ""):
            if value:
                done = self.run_program("rpcrdma-nfsd", "--export", "memory:/m", f"--metrics={value}")
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), value)
        server = self.server(options=["--metrics", "0"])
        self.assertTrue(server.metrics.startswith("127.0.0.1:"), "loopback unless told otherwise")
        self.assertNotIn("without authentication", server.log())
        self.assertIsNone(self.server(name="none").metrics)
        config = self.folder / "nfsd.toml"
        config.write_text('metrics = "127.0.0.2:0"\n')
        configured = self.server(options=["--config", config], name="configured")
        self.assertTrue(configured.metrics.startswith("127.0.0.2:"))

    def test_warns_about_other_addresses(self):
        server = self.server(options=["--metrics", "0.0.0.0:0"])
        self.assertIn("without authentication", server.log())

    @unittest.skipUnless(shutil.which("promtool"), "Debian's package prometheus is not installed")
    def test_promtool_accepts_the_text(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        done = subprocess.run(["promtool", "check", "metrics"], input=fetch(server, "/metrics")[2], capture_output=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


class Top(Case):
    def top(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(TOP), *arguments], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

    def test_once(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connection")
        done = self.top("--once", server.metrics)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("READDIR", done.stdout)
        self.assertIn("connections 0", done.stdout)

    def test_json(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        done = self.top("--json", "--interval", "0.1", "--count", "2", server.metrics)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(lines), 2)
        names = {one["procedure"] for one in lines[0]["procedures"]}
        self.assertIn("READDIR", names)
        self.assertEqual(lines[1]["calls_per_second"], 0)

    def test_a_report_that_is_seen_twice_is_no_sample(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        done = self.top("--json", "--interval", "0.05", "--count", "6", server.metrics)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(min(json.loads(line)["seconds"] for line in done.stdout.splitlines()), 0.05)

    def test_statistics_of_the_client_program(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        wait_until(lambda: stats(server)["connections"]["open"] == 0, "the end of the connection")
        shown = self.nfs("stats", "--once", f"http://{server.metrics}/").decode()
        self.assertIn("READDIR", shown)
        self.assertIn("connections 0", shown)
        seen = json.loads(self.nfs("stats", "--once", "--json", f"http://{server.metrics}"))
        self.assertEqual(sum(one["calls"] for one in seen["procedures"]), server.counters()["calls"])
        for url in ("127.0.0.1:80", "http://127.0.0.1", "http://:80", "http://127.0.0.1:80/x", "http://127.0.0.1:0",
                    "nfs://127.0.0.1/memory", "http://127.0.0.1:99999", "http://127.0.0.1:8x"):
            self.assertIn("not http://ADDR:PORT", self.nfs_fails("stats", url, status=2), url)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.assertIn("refused", self.nfs_fails("stats", f"http://127.0.0.1:{unused.getsockname()[1]}"))

    def screen_of(self, server, columns, lines):
        """The lines of the first screen with a table that rpcrdma-top shows in a terminal of this size."""
        terminal, inside = pty.openpty()
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        program = subprocess.Popen([sys.executable, "-B", str(TOP), server.metrics], stdin=inside, stdout=inside, stderr=inside,
                                   env=environment)
        try:
            os.close(inside)
            shown = b""
            while not (shown.endswith(b"\x1b[J") and b"procedure" in shown):
                shown += os.read(terminal, 65536)
            os.write(terminal, b"q")
            self.assertEqual(program.wait(DEADLINE_S), 0)
        finally:
            program.kill()
            program.wait()
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode().split("\x1b[H")[-1]).replace("\r", "")
        return text.splitlines()

    def test_small_terminals(self):
        """rpcrdma-top cuts no text: it wraps lines, and leaves out columns and rows, but always shows connections."""
        server = self.server(options=OPTIONS)
        source = self.folder / "source"
        source.write_bytes(b"x")
        self.nfs("put", source, server.url("memory/f"))
        self.nfs("ls", "-l", server.url("memory"))
        ping = subprocess.Popen([Path(os.environ["RPCRDMA_BIN"]) / "rpcrdma-ping", "--count", "100000000", server.address],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: stats(server)["busiest_connections"], "a connection")
            for columns, lines in ((200, 50), (80, 24), (50, 16)):
                shown = self.screen_of(server, columns, lines)
                self.assertLess(len(shown), lines)
                self.assertLessEqual(max(map(len, shown)), columns)
                titles = [line.split() for line in shown if re.match(r"(procedure|connection) ", line)]
                self.assertEqual([title[0] for title in titles], ["procedure", "connection"])
                self.assertEqual((titles[0][-1], titles[1][1:3]), ("errors", ["peer", "calls/s"]))
                self.assertTrue(any(re.match(r"\d+ +\S+:\d+ ", line) for line in shown), shown)
                self.assertEqual(any("more)" in line for line in shown), lines == 16)
                self.assertRegex("  ".join(shown), r"resident \S+B  calls .* waits: send queue \d+, memory \d+, read depth \d+  calls with:")
        finally:
            ping.kill()
            ping.wait()

    def test_no_server(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            done = self.top("--once", f"127.0.0.1:{unused.getsockname()[1]}")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertEqual(self.top().returncode, 2)
        self.assertEqual(self.top("nonsense").returncode, 2)
