# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-conform server against rpcrdma-nfsd, and against faulty servers."""
import re
import socket
import struct
import xml.etree.ElementTree
from pathlib import Path

from kit.case import Case
from kit.fabric import ADDRESS, FABRIC, iwarp_only
from kit.waiting import DEADLINE_S
from kit.wire import rpc
from kit.wire.answering import ATTRIBUTES, CHANGED, MOUNTED, Answerer, found, page

RULES = Path(__file__).resolve().parents[3] / "docs/requirements.tsv"
PATIENCE_S = DEADLINE_S / 10  # for one answer; only a failure waits that long
SUMMARY = re.compile(r"^(MUST|SHOULD|ROBUSTNESS) +(\d+) passed +(\d+) failed +(\d+) skipped +(\d+) known$", re.MULTILINE)


MADE = struct.pack(">II", 0, 1) + rpc.opaque(b"file") + bytes(4 + 8)  # NFS3_OK, the handle of the object, no attributes


def files(read, listed=()):
    """Answers for Answerer. `read` gets offset and count of READ, and returns data and eof. If names are `listed`, a
    directory has them for ever."""
    def answer(program, procedure, arguments):
        if program == rpc.MOUNT:
            return MOUNTED
        if procedure == 6:  # READ
            data, eof = read(*struct.unpack_from(">QI", arguments, 8))
            return bytes(4 + 4) + struct.pack(">II", len(data), eof) + rpc.opaque(data)
        if procedure == 7:  # WRITE
            return CHANGED + struct.pack(">II", struct.unpack_from(">I", arguments, 16)[0], 2) + bytes(8)
        removed = struct.pack(">I", 13) + bytes(8) if listed else CHANGED  # NFS3ERR_ACCES
        return {1: ATTRIBUTES, 3: found(b"file"), 8: MADE, 9: MADE, 10: MADE, 12: removed, 13: removed,
                16: page(listed, True, plus=False)}.get(procedure)
    return answer


class Conform(Case):
    timeout_s = 300

    def conform(self, server, *arguments, **keywords):
        return self.run_program("rpcrdma-conform", "server", "--patience", PATIENCE_S, *arguments,
                                f"{FABRIC}@{server.address}", **keywords)

    def totals(self, done):
        """(passed, failed, skipped, known) by level."""
        found = SUMMARY.findall(done.stdout.decode())
        self.assertEqual(len(found), 3, done.stdout)
        return {level: tuple(map(int, counts)) for level, *counts in found}

    def failures(self, done):
        return re.findall(r"^fail +\w+ +(\S+)", done.stdout.decode(), re.MULTILINE)

    def passes(self, server, *arguments):
        done = self.conform(server, *arguments)
        self.assertEqual((done.returncode, self.failures(done), done.stderr), (0, [], b""), done.stdout.decode())
        return self.totals(done)

    def test_memory_export(self):
        server = self.server()
        totals = self.passes(server, "--export", "/memory")
        self.assertGreaterEqual(sum(counts[0] for counts in totals.values()), 300)
        self.assertEqual(self.ls(server.url("/memory")), [], "the tester's files are gone")

    @iwarp_only("the cases with a directory do not depend on the fabric")
    def test_directory_export(self):
        server = self.server()
        totals = self.passes(server, "--export", "/files")
        self.assertGreaterEqual(totals["MUST"][0], 180)
        self.assertEqual(list(self.files.iterdir()), [], "the tester's files are gone")

    @iwarp_only("an emulated machine is slow")
    def test_server_with_the_smallest_sizes(self):
        server = self.server(options=("--inline-threshold", "1024", "--credits", "2"))
        self.passes(server, "--export", "/memory")

    @iwarp_only("an emulated machine is slow")
    def test_server_of_both_versions(self):
        server = self.server(options=("--rdma-version", "auto"))
        totals = self.passes(server, "--export", "/memory")
        self.assertGreaterEqual(totals["MUST"][0], 180)

    def test_without_files(self):
        totals = self.passes(self.server(), "--program", "null")
        self.assertGreaterEqual(totals["MUST"][0], 100)
        self.assertGreaterEqual(totals["MUST"][2], 50)

    @iwarp_only("tests nothing that depends on the fabric")
    def test_export_that_cannot_be_written(self):
        server = self.server(["memory:/memory,ro"])
        done = self.conform(server, "--export", "/memory", "--only", "write-chunks/*", "--only", "header/*")
        self.assertEqual((done.returncode, self.failures(done)), (0, []), done.stdout)
        self.assertIn(b"(the tester's files could not be made: ", done.stdout)
        self.assertGreaterEqual(self.totals(done)["MUST"][0], 30)

    def test_mount_over_tcp(self):
        server = self.server(options=("--tcp-listen", f"{ADDRESS}:0"))
        port = server.tcp[0].rsplit(":", 1)[1]
        done = self.conform(server, "--export", "/memory", "--mount-port", port, "--only", "write-chunks/*", "--only", "mount/*")
        self.assertEqual((done.returncode, self.failures(done)), (0, []), done.stdout)
        self.assertGreaterEqual(self.totals(done)["MUST"][0], 25)
        done = self.conform(server, "--export", "/no-such-export", "--mount-port", port)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn(b"MOUNT of /no-such-export failed", done.stderr)
        with socket.create_server((ADDRESS, 0)) as silent:
            done = self.run_program("rpcrdma-conform", "server", "--patience", "1", "--export", "/memory", "--mount-port",
                                    silent.getsockname()[1], f"{FABRIC}@{server.address}")
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn(b"MOUNT over TCP: ", done.stderr)

    def test_reports(self):
        server = self.server()
        files = {name: self.folder / name for name in ("tap", "junit", "html")}
        self.passes(server, "--export", "/memory", "--only", "errors/*", "--only", "mount/*",
                    *(word for name, path in files.items() for word in (f"--{name}", path)))
        version, plan, *lines = files["tap"].read_text().splitlines()
        self.assertEqual(version, "TAP version 14")
        results = [line for line in lines if re.match(r"(not )?ok ", line)]
        self.assertEqual(plan, f"1..{len(results)}")
        for number, line in enumerate(results, 1):
            self.assertRegex(line, rf"^ok {number} - (errors|mount)/[a-z0-9-]+$")
        root = xml.etree.ElementTree.parse(files["junit"]).getroot()
        cases = root.findall("./testsuite/testcase")
        self.assertEqual((root.get("tests"), root.get("failures")), (str(len(cases)), "0"))
        self.assertEqual(len(cases), len(results))
        page = files["html"].read_text()
        self.assertIn("No MUST failed.", page)
        self.assertEqual(page.count("<details"), len(results))

    def test_reports_that_cannot_be_written(self):
        server = self.server()
        for name in ("tap", "junit", "html"):
            with self.subTest(name=name):
                done = self.conform(server, "--export", "/memory", "--only", "mount/*", f"--{name}", "/dev/full")
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)

    def test_report_to_standard_output(self):
        done = self.conform(self.server(), "--export", "/memory", "--only", "mount/*", "--tap", "-")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b"TAP version 14\n1..4\n"), done.stdout)
        self.assertNotIn(b"ROBUSTNESS", done.stdout)

    def test_list(self):
        done = self.run_program("rpcrdma-conform", "server", "--list")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertGreaterEqual(len(lines), 150)
        self.assertEqual(len({line[0] for line in lines}), len(lines))
        known = {line.split("\t")[0] for line in RULES.read_text().splitlines()}
        for identifier, level, *rules in lines:
            self.assertLessEqual(set(rules) - {"-"}, known, identifier)
            self.assertIn(level, ("MUST", "SHOULD", "ROBUSTNESS"))
            self.assertTrue(level == "ROBUSTNESS" or rules != ["-"], identifier)
        some = self.run_program("rpcrdma-conform", "server", "--list", "--only", "^(mount|nfs)/")
        self.assertEqual({line.split()[0].split("/")[0] for line in some.stdout.decode().splitlines()}, {"mount", "nfs"})

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_server_that_fails(self):
        """A server that takes every message for a call of version one."""
        known = self.folder / "known"
        arguments = ("--program", "null", "--only", "header/version-0", "--only", "header/xid-0", "--only", "header/msgp")
        with Answerer(lambda *_: None) as server:
            done = self.conform(server, *arguments)
            self.assertEqual((done.returncode, self.failures(done)), (1, ["header/version-0", "header/msgp"]))
            self.assertRegex(done.stdout.decode(), r"\n +sent +a call with rdma_vers 0\n +required +ERR_VERS .*\n"
                                                   r" +received +RDMA_MSG, xid .*\n +not ERR_VERS\n")
            known.write_text("# accepted\n\nheader/version-*   a reason of words\nheader/xid-0 another\n")
            done = self.conform(server, *arguments, "--known", known)
            self.assertEqual((done.returncode, self.failures(done)), (0, ["header/msgp"]), "a SHOULD does not count")
            self.assertRegex(done.stdout.decode(), r"\nknown MUST +header/version-0 .*\(a reason of words\)\n")
            self.assertRegex(done.stdout.decode(), r"\npass +MUST +header/xid-0 .*\(listed as known, but passes\)\n")
            self.assertEqual(self.totals(done)["MUST"], (1, 0, 0, 1))
            known.write_text("header/version-0\n")
            done = self.conform(server, *arguments, "--known", known)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"line 1: no reason after the id", done.stderr)

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_server_that_ignores_a_chunk(self):
        """A server that executes the inline call of every message, whatever chunks it has."""
        case = "read-chunks/chunk-at-position-0"
        with Answerer(lambda *_: None) as server:
            done = self.conform(server, "--program", "null", "--only", case)
        self.assertEqual((done.returncode, self.failures(done)), (0, [case]), done.stdout)
        self.assertIn(b"the call was executed: SUCCESS", done.stdout)

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_server_without_attributes(self):
        """Its replies to READ are shorter than others, and it returns less than requested if a reply does not fit."""
        class Short(Answerer):
            def _reply(self, received):
                reply = super()._reply(received)
                return reply if len(reply) <= 4096 else b""

        most = 4096 - 72
        with Short(files(lambda offset, count: (bytes(min(count, most)), False))) as server:
            done = self.conform(server, "--export", "/memory", "--only", "thresholds/reply-above-without-a-chunk")
        self.assertEqual((done.returncode, self.failures(done)), (0, []), done.stdout)

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_long_reply_without_a_chunk(self):
        """A server that answers a call in a Position-Zero Read chunk by RDMA_NOMSG without a Reply chunk."""
        class Empty(Answerer):
            def _reply(self, received):
                if struct.unpack_from(">I", received, 12)[0] == rpc.NOMSG:
                    return received[:12] + struct.pack(">4I", rpc.NOMSG, 0, 0, 0)
                return super()._reply(received)

        case = "long-calls/long-reply"
        with Empty(files(lambda offset, count: (bytes(count), True))) as server:
            done = self.conform(server, "--export", "/memory", "--only", case)
        self.assertEqual((done.returncode, self.failures(done)), (1, [case]), done.stdout)
        self.assertIn(b"the Reply chunk is not used", done.stdout)

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_server_whose_files_have_no_end(self):
        with Answerer(files(lambda offset, count: (bytes(800), False))) as server:
            done = self.conform(server, "--export", "/memory", "--only", "read-chunks/inline-data")
        self.assertEqual((done.returncode, self.failures(done)), (1, ["read-chunks/inline-data"]), done.stdout)
        self.assertIn(b"READ returns data without end", done.stdout)

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_server_that_removes_nothing(self):
        """The tester gives up to remove its files."""
        with Answerer(files(lambda offset, count: (bytes(count), True), [(b"many", 1, b"")])) as server:
            self.conform(server, "--export", "/memory", "--only", "rpc/rpc-version-0")
            self.assertLess(server.calls, 3000)

    @iwarp_only("the tested server speaks iWARP only")
    def test_a_server_that_gives_up(self):
        """The run ends early when the server stops answering NULL."""
        class Tired(Answerer):
            def _reply(self, received):
                if self.calls >= 20:
                    raise ConnectionError
                return super()._reply(received)

        with Tired(lambda *_: None) as server:
            done = self.conform(server, "--program", "null", "--only", "rpc/*", "--junit", self.folder / "junit")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(b"\nThe run ended early, after ", done.stdout)
        root = xml.etree.ElementTree.parse(self.folder / "junit").getroot()
        self.assertEqual(root.get("errors"), "1")

    def test_usage_errors(self):
        for arguments in ((), ("server",), ("server", "nonsense"), ("server", "127.0.0.1:1"), ("server", "--program", "x", "a:1"),
                          ("server", "--export", "/m", "smoke@127.0.0.1:1"),
                          ("server", "--export", "/m", "127.0.0.1:0"),
                          ("server", "--root-handle", "abc", "127.0.0.1:1"),
                          ("server", "--program", "null", "--only", "(", "127.0.0.1:1"),
                          ("server", "--program", "null", "--only", "nothing-of-this-name", "127.0.0.1:1"),
                          ("server", "--program", "null", "--known", "/no/such/file", "127.0.0.1:1"),
                          ("server", "--program", "null", "--known", "/tmp", "127.0.0.1:1"),
                          ("server", "--program", "null", "--html", "/no/such/folder/page", "127.0.0.1:1")):
            with self.subTest(arguments=arguments):
                done = self.run_program("rpcrdma-conform", *arguments)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_unreachable(self):
        server = self.server()
        done = self.conform(server, "--export", "/no-such-export")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"MOUNT of /no-such-export failed", done.stderr)
        self.assertEqual(server.stop(), 0)
        done = self.conform(server, "--export", "/memory")
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
