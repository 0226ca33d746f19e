# SPDX-License-Identifier: BSD-3-Clause
"""Many clients at once, each with its own tree."""
from concurrent.futures import ThreadPoolExecutor

from kit.case import Case
from kit.trees import differences, make_tree
from kit.waiting import DEADLINE_S, scaled


class ManyClients(Case):
    serial = True
    timeout_s = 600

    def copy_all(self, server, export, count):
        def one(index):
            local = make_tree(self.folder / f"tree-{index}", scaled(40, 12), seed=index, largest=scaled(400000, 60000))
            self.nfs("put", "-r", local, server.url(export), deadline_s=7 * DEADLINE_S)
            self.nfs("get", "-r", server.url(f"{export}/{local.name}"), self.folder / f"back-{index}", deadline_s=7 * DEADLINE_S)
            return differences(local, self.folder / f"back-{index}")

        with ThreadPoolExecutor(count) as pool:
            found = list(pool.map(one, range(count)))
        self.assertEqual(found, [[]] * count)
        self.assertEqual(server.counters()["accepted"], 2 * count)

    def test_64_clients_on_a_directory(self):
        self.copy_all(self.server(), "/files", scaled(64, 24))

    def test_64_clients_on_memory(self):
        self.copy_all(self.server(options=["--threads", "2"]), "/memory", scaled(64, 24))
