# SPDX-License-Identifier: BSD-3-Clause
"""Transfers during which the server or the client is killed, or the client gets SIGPIPE."""
import filecmp
import os
import signal
import subprocess

from kit.case import Case
from kit.fabric import OPTIONS
from kit.server import binary
from kit.trees import write_noise
from kit.waiting import DEADLINE_S, scaled, wait_until

SIZE = scaled(512, 96) << 20


def allocated(folder):
    """Bytes on disk of all files in a directory."""
    return sum(path.stat().st_blocks * 512 for path in folder.iterdir() if path.is_file())


class Client(Case):
    timeout_s = 400

    def client(self, *arguments):
        process = subprocess.Popen([binary("rpcrdma-nfs"), *OPTIONS, "--timeout", "60", *map(str, arguments)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def finishes(self, client):
        _, message = client.communicate(timeout=4 * DEADLINE_S)
        self.assertEqual(client.returncode, 0, message)


class Faults(Client):
    serial = True

    def test_server_killed_in_mid_put(self):
        server = self.server()
        source = write_noise(self.folder / "source", SIZE, 1)
        client = self.client("put", source, server.url("/files/target"))
        wait_until(lambda: allocated(self.files) > SIZE // 8, "an eighth of the file")
        server.kill()
        self.assertIsNone(client.poll(), "the client is still running")
        server.start()
        self.finishes(client)
        self.assertTrue(filecmp.cmp(source, self.files / "target", shallow=False))

    def test_server_killed_in_mid_get(self):
        server = self.server()
        source = write_noise(self.files / "source", SIZE, 2)
        into = self.folder / "into"
        into.mkdir()
        client = self.client("get", server.url("/files/source"), into)
        wait_until(lambda: allocated(into) > SIZE // 8, "an eighth of the file")
        server.kill()
        self.assertIsNone(client.poll(), "the client is still running")
        server.start()
        self.finishes(client)
        self.assertTrue(filecmp.cmp(source, into / "source", shallow=False))

    def test_sigpipe_in_mid_put(self):
        """siw raises SIGPIPE when a connection is lost. The signal must not end the transfer."""
        source = write_noise(self.folder / "source", SIZE, 3)
        client = self.client("put", source, self.server().url("/files/target"))
        wait_until(lambda: allocated(self.files) > SIZE // 8, "an eighth of the file")
        client.send_signal(signal.SIGPIPE)
        self.finishes(client)
        self.assertTrue(filecmp.cmp(source, self.files / "target", shallow=False))

    def test_nobody_reads_the_output(self):
        server = self.server()
        write_noise(self.files / "source", 4 << 20, 4)
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([binary("rpcrdma-nfs"), *OPTIONS, "cat", server.url("/files/source")], stdout=writing,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_server_killed_twice_in_mid_tree(self):
        server = self.server()
        source = self.folder / "tree"
        source.mkdir()
        for index in range(scaled(2000, 400)):
            (source / f"f{index}").write_bytes(b"%d" % index * 100)
        client = self.client("put", "-r", source, server.url("/files/tree"))
        for fraction in (4, 2):
            target = self.files / "tree"
            wait_until(lambda: target.exists() and len(list(target.iterdir())) > scaled(2000, 400) // fraction, "a part")
            server.kill()
            server.start()
        self.finishes(client)
        self.assertEqual(filecmp.cmpfiles(source, self.files / "tree", [path.name for path in source.iterdir()],
                                          shallow=False)[1:], ([], []))


class DeadClients(Client):
    """This test mostly waits until the server closes idle files, so it may run at the same time as other tests."""

    def test_client_killed_in_mid_transfer(self):
        """The server releases the memory and descriptors of clients that are killed repeatedly."""
        server = self.server()
        source = write_noise(self.folder / "source", SIZE, 3)
        target = self.files / "target"
        target.touch()
        self.nfs("put", target, server.url("/files/target"))  # the server may keep the file open
        wait_until(lambda: self.at_rest(server.counters()), "the end of the first connection")
        idle = server.descriptors()
        resident, lent, cut = [], [], 0
        for turn in range(scaled(8, 4, tiny=4)):
            # Kills the client during RDMA Reads in even turns, and during RDMA Writes in odd turns.
            if turn % 2 == 0:
                os.truncate(target, 0)
                client, arrives = self.client("put", source, server.url("/files/target")), self.files
            else:
                into = self.folder / f"into{turn}"
                into.mkdir()
                client, arrives = self.client("get", server.url("/files/target"), into), into
            wait_until(lambda folder=arrives: allocated(folder) > SIZE // 64, "a part of the file")
            client.send_signal(signal.SIGSTOP)
            cut += server.counters()["connections"]  # none if the transfer ended first
            client.send_signal(signal.SIGKILL)
            client.wait()
            wait_until(lambda: self.at_rest(server.counters()), "the release of the dead client's resources")
            wait_until(lambda: server.descriptors() <= idle, "the close of the dead client's descriptors")
            resident.append(server.resident_kib())
            lent.append(server.counters()["lent"])
        self.assertGreater(cut, 0)
        # The pools reach their final size with the second client: later clients must not make them grow.
        self.assertEqual(len(set(lent)), 1, lent)
        self.assertLess(max(resident[2:]) - resident[1], 64 << 10, resident)

    @staticmethod
    def at_rest(counters):
        return all(counters[name] == 0 for name in ("connections", "bulk", "receive"))
