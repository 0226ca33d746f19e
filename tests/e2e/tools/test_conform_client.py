# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-conform client against the programs, and against faulty clients."""
import os
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

from kit.case import Case
from kit.fabric import ADDRESS, FABRIC, OPTIONS, iwarp_only
from kit.server import binary
from kit.waiting import DEADLINE_S, wait_until
from kit.wire import bad_client

RULES = Path(__file__).resolve().parents[3] / "docs/requirements.tsv"
SUMMARY = re.compile(r"^(MUST|SHOULD|ROBUSTNESS) +(\d+) passed +(\d+) failed +(\d+) skipped +(\d+) known$", re.MULTILINE)
# The command has a short time limit in the family "stalls", where it is to time out, and a long limit elsewhere.
WRAPPER = """case $RPCRDMA_CONFORM_CASE in stalls/*) limit=1 ;; *) limit=%d ;; esac
exec %s --timeout $limit "$@"
"""


class Tester(Case):
    timeout_s = 300

    def conform(self, *arguments, command=(), **keywords):
        return self.run_program("rpcrdma-conform", "client", "--listen", f"{FABRIC}@{ADDRESS}:0", "--patience", DEADLINE_S / 3,
                                *arguments, "--", *command, **{"deadline_s": 4 * DEADLINE_S, **keywords})

    def failures(self, done):
        return re.findall(r"^fail +\w+ +(\S+)", done.stdout.decode(), re.MULTILINE)

    def only(self, *families):
        return [word for family in families for word in ("--only", family if "/" in family else f"{family}/*")]


@iwarp_only("an emulated machine is slow")
class Programs(Tester):
    """No case fails, and at least a given number of cases pass."""

    def passes(self, least, families, program, *arguments):
        wrapper = self.folder / "command"
        wrapper.write_text(WRAPPER % (DEADLINE_S / 3, shlex.join([binary(program), *OPTIONS])))
        done = self.conform(*self.only(*families), command=("sh", wrapper, *arguments))
        self.assertEqual((done.returncode, self.failures(done), done.stderr), (0, [], b""), done.stdout.decode())
        found = SUMMARY.findall(done.stdout.decode())
        self.assertEqual(len(found), 3, done.stdout)
        self.assertGreaterEqual(sum(int(passed) for _, passed, *_ in found), least, done.stdout.decode())

    def test_get(self):
        self.passes(150, ("connections", "errors", "credits", "write-chunks", "memory", "invalidation", "names", "attributes",
                          "listings/within-itself*", "links", "read", "fsinfo", "always"), "rpcrdma-nfs", "get", "-r", "{url}", "{dir}")

    def test_put(self):
        self.passes(65, ("connections", "errors/err-chunk-to-data", "memory", "handles", "write", "fsinfo", "always"),
                    "rpcrdma-nfs", "put", "-r", "{source}", "{url}")

    def test_ls(self):
        self.passes(65, ("mount", "names", "listings", "links", "reply-chunks", "always"), "rpcrdma-nfs", "ls", "-l", "{url}")

    def test_ping(self):
        self.passes(100, ("private-data", "headers", "errors", "credits", "invalidation", "reverse", "rpc", "always"),
                    "rpcrdma-ping", "--count", "5", "{address}:{port}")

    def test_stalls(self):
        """A case is skipped if the command times out before the fault."""
        self.passes(1, ("stalls",), "rpcrdma-nfs", "get", "-r", "{url}", "{dir}")


@iwarp_only("the client is driven by hand")
class BadClients(Tester):
    """Each faulty client fails the case that tests for its fault."""

    def command(self, fault):
        return (sys.executable, "-B", bad_client.__file__, fault, "{address}:{port}", "{dir}")

    def test_a_good_one(self):
        done = self.conform(*self.only("headers/version-3", "names/parent", "read/count-below-the-data",
                                       "connections/three-calls-each", "memory/read-after-the-reply", "memory/write-after-the-reply",
                                       "always"),
                            command=self.command("none"))
        self.assertEqual((done.returncode, self.failures(done)), (0, []), done.stdout.decode())
        self.assertEqual(int(SUMMARY.findall(done.stdout.decode())[0][3]), 0, "nothing is skipped")

    def fails(self, fault, case, why, status):
        with self.subTest(fault):
            done = self.conform(*self.only("connections/no-reads", case), command=self.command(fault))
            self.assertEqual((done.returncode, self.failures(done)), (status, [case]), done.stdout.decode())
            self.assertIn(why, done.stdout.decode())

    def test_what_it_does(self):
        self.fails("crash", "headers/version-3", "the command crashed: SIGSEGV", 1)
        self.fails("obeys-names", "names/parent", "the command wrote outside of its directory: ", 0)
        self.fails("obeys-count", "read/count-below-the-data", "reports success, but files are damaged or missing: {dir}/", 0)
        self.fails("reconnects", "connections/three-calls-each", "the command retries without end: ", 0)
        self.fails("keeps-memory", "memory/read-after-the-reply", "the Read chunk of an earlier call can be read", 1)
        self.fails("keeps-memory", "memory/write-after-the-reply", "the Write chunk of an earlier call can be written", 1)

    def test_what_it_sends(self):
        self.fails("msgp", "always/no-msgp", "messages break the rule; the first: without a fault: ", 1)
        self.fails("long-message", "always/within-the-threshold", "the inline threshold is 4096", 1)
        self.fails("half-a-call", "always/decodable", "messages break the rule; the first: without a fault: RPC call: ", 1)
        self.fails("two-at-once", "credits/late-first-reply", "2 calls before the first reply", 1)
        self.fails("many-calls", "credits/late-replies", "unanswered calls, at most 2 granted", 1)
        self.fails("same-handle", "always/fresh-handles", "again", 0)
        self.fails("not-eligible", "always/eligible-results", "procedure 1, ", 0)
        self.fails("small-write-chunk", "always/large-write-chunk", "READ of 5000 bytes, a Write chunk of 100", 1)

    def test_a_message_of_the_announced_size(self):
        done = self.conform("--only", "private-data/largest-sizes", command=self.command("largest-message"))
        self.assertEqual((done.returncode, self.failures(done)), (0, []), done.stdout.decode())

    def test_memory_that_wraps(self):
        """A Read that cannot be posted ends the connection; the command does not wait for ever."""
        done = self.conform("--only", "connections/no-reads", command=self.command("wrapping-memory"))
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn(b"without a fault: the command fails: exit status 1", done.stderr)

    def test_an_error_to_a_reply(self):
        done = self.conform(*self.only("headers/version-3", "always/no-error"), command=self.command("rdma-error"))
        self.assertEqual((done.returncode, self.failures(done)), (1, ["always/no-error"]), done.stdout.decode())


@iwarp_only("tests nothing that depends on the fabric")
class Commands(Tester):
    def test_what_it_is_given(self):
        """The placeholders, environment variables and directories that COMMAND gets."""
        script = self.folder / "script"
        script.write_text(f'echo "$@" "$RPCRDMA_CONFORM_URL" "$RPCRDMA_CONFORM_ADDRESS" "$RPCRDMA_CONFORM_PORT" >"{self.folder}/given"\n'
                          f'ls -A "$RPCRDMA_CONFORM_DIR" >"{self.folder}/listed"; ls "$RPCRDMA_CONFORM_SOURCE" >>"{self.folder}/listed"\n'
                          f'{shlex.join([binary("rpcrdma-nfs"), *OPTIONS])} ls "$1"\n')
        done = self.conform("--export", "files", "--only", "always/decodable", command=("sh", script, "{url}", "{address}", "{port}", "{other}"))
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        url, address, port, other, *same = (self.folder / "given").read_text().split()
        self.assertEqual((url, address, other), (f"nfs://{ADDRESS}:{port}/files", ADDRESS, "{other}"))
        self.assertEqual(same, [url, address, port])
        self.assertEqual((self.folder / "listed").read_text().split(), ["folder", "link", "long", "short"])

    def test_mount_over_tcp(self):
        command = (binary("rpcrdma-nfs"), *OPTIONS, "--mount-port", "{mount_port}", "ls", "{url}")
        done = self.conform("--mount-port", "0", *self.only("mount/access-denied", "mount/handle-65", "mount/no-flavors"), command=command)
        self.assertEqual((done.returncode, self.failures(done), done.stderr), (0, [], b""), done.stdout.decode())
        self.assertEqual(done.stdout.count(b"\npass "), 3, done.stdout)

    def test_signals_end_the_command(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            started, temporary = self.folder / f"started-{number}", self.folder / f"temporary-{number}"
            temporary.mkdir()
            with subprocess.Popen([binary("rpcrdma-conform"), "client", "--listen", f"{FABRIC}@{ADDRESS}:0", "--patience",
                                   str(DEADLINE_S), "--", "sh", "-c",
                                   f"echo $$ >'{started}.new' && mv '{started}.new' '{started}'; exec sleep 100000"],
                                  stdout=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(temporary))) as tester:
                try:
                    wait_until(started.exists, "the start of the command")
                    tester.send_signal(number)
                    self.assertEqual(tester.wait(DEADLINE_S), 128 + number)
                finally:
                    tester.kill()
            with self.assertRaises(ProcessLookupError):
                os.kill(int(started.read_text()), 0)
            self.assertEqual(list(temporary.iterdir()), [])

    def test_a_command_that_fails_by_itself(self):
        for command, why in ((("false",), "COMMAND makes no call (exit status 1, 0 calls"),
                             (("/no/such/program",), "cannot run /no/such/program"),
                             (("sh", "-c", "kill -SEGV $$"), "COMMAND makes no call (ended by SIGSEGV"),
                             ((binary("rpcrdma-nfs"), *OPTIONS, "cat", "{url}/nothing"), "without a fault: the command fails: exit status 1")):
            with self.subTest(command):
                done = self.conform(command=command)
                self.assertEqual((done.returncode, done.stdout), (3, b""))
                self.assertIn(why, done.stderr.decode())

    def test_reports(self):
        files = {name: self.folder / name for name in ("tap", "junit", "html")}
        known = self.folder / "known"
        known.write_text("handles/* a reason\n")
        done = self.conform(*self.only("mount", "handles/stale"), "--known", known,
                            *(word for name, path in files.items() for word in (f"--{name}", path)),
                            command=(binary("rpcrdma-nfs"), *OPTIONS, "ls", "{url}"))
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        self.assertIn(b"(listed as known, but passes)", done.stdout)
        results = [line for line in files["tap"].read_text().splitlines() if re.match(r"(not )?ok ", line)]
        cases = xml.etree.ElementTree.parse(files["junit"]).getroot().findall("./testsuite/testcase")
        self.assertEqual(len(cases), len(results))
        self.assertEqual(files["html"].read_text().count("<details"), len(results))

    def test_list(self):
        done = self.run_program("rpcrdma-conform", "client", "--list")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertGreaterEqual(len(lines), 300)
        self.assertEqual(len({line[0] for line in lines}), len(lines))
        rules = {line.split("\t")[0] for line in RULES.read_text().splitlines()}
        for identifier, level, *named in lines:
            self.assertLessEqual(set(named) - {"-"}, rules, identifier)
            self.assertTrue(level == "ROBUSTNESS" or named != ["-"], identifier)

    def test_usage_errors(self):
        for arguments in (("--", "true"), ("--listen", "nonsense", "--", "true"), ("--listen", f"{ADDRESS}:0"),
                          ("--listen", "smoke@127.0.0.1:0", "--", "true"), ("--listen", "0.0.0.0:0", "--", "true"),
                          ("--listen", "127.0.0.1:0", "--export", "a/b", "--", "true"),
                          ("--listen", "127.0.0.1:0", "--memory", "0", "--", "true"),
                          ("--listen", "127.0.0.1:0", "--only", "nothing-of-this-name", "--", "true")):
            with self.subTest(arguments=arguments):
                done = self.run_program("rpcrdma-conform", "client", *arguments)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
