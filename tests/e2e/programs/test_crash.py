# SPDX-License-Identifier: BSD-3-Clause
"""Kills the server at random moments under load, many times: no data that was acknowledged as stable is lost, handles
stay valid, and unstable writes can be sent again."""
import os
import random
import threading

from kit.case import Case
from kit.journal import Journal
from kit.waiting import scaled, wait_until
from kit.wire import nfs
from kit.wire.rpc import RpcPeer

CLIENTS = 4


class Crash(Case):
    timeout_s = 900

    def journals(self, server, seed):
        made = []
        with RpcPeer(server.address) as peer:
            root = peer.mount("/files")
            for number in range(CLIENTS):
                name = f"client{number}"
                status, rest = nfs.ask(peer, *nfs.mkdir(root, name.encode()))
                self.assertEqual(status, nfs.OK)
                made.append(Journal(random.Random(f"{seed}-{number}"), nfs.handle_of_new(rest), self.files / name))
        for journal in made:
            journal.connect(server.address)
        return made

    def kill_under_load(self, server, journals, chance):
        failures = []

        def work(journal):
            try:
                journal.work()
            except Exception as error:  # pylint: disable=broad-exception-caught
                failures.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=work, args=(journal,)) for journal in journals]
        start = sum(journal.acknowledged for journal in journals)
        wanted = start + chance.randint(1, 16)
        for thread in threads:
            thread.start()
        wait_until(lambda: failures or sum(journal.acknowledged for journal in journals) >= wanted, "some replies",
                   interval_s=0.0002)
        server.kill()
        for thread in threads:
            thread.join()
        return failures

    def test_nothing_acknowledged_is_lost(self):
        seed = os.environ.get("RPCRDMA_E2E_SEED") or str(random.SystemRandom().randint(0, 1 << 30))
        chance = random.Random(seed)
        server = self.server()
        journals = self.journals(server, seed)
        interrupted = 0
        for kill in range(scaled(200, 10)):
            failures = self.kill_under_load(server, journals, chance)
            interrupted += sum(journal.pending is not None for journal in journals)
            failures += [wrong for wrong in map(Journal.check, journals) if wrong]
            self.assertEqual(failures, [], f"kill {kill}, RPCRDMA_E2E_SEED={seed}")
            server.start()
            for journal in journals:
                journal.peer.close()
                journal.recover(server.address)
        self.assertGreater(interrupted, 0, "no call was ever interrupted: the server was idle at each kill")
        self.assertEqual([wrong for wrong in map(Journal.check, journals) if wrong], [])
        for journal in journals:
            journal.peer.close()
