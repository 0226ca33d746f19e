# SPDX-License-Identifier: BSD-3-Clause
"""Trees of files, copied to the server and back."""
from kit.case import Case
from kit.trees import differences, make_tree, sample_tree
from kit.waiting import DEADLINE_S, scaled


class Trees(Case):
    timeout_s = 300

    def there_and_back(self, server, export, local):
        self.nfs("put", "-r", local, server.url(export), deadline_s=4 * DEADLINE_S)
        self.nfs("get", "-r", server.url(f"{export}/{local.name}"), self.folder / "back", deadline_s=4 * DEADLINE_S)
        self.assertEqual(differences(local, self.folder / "back"), [])

    def test_real_files_to_a_directory(self):
        local = self.folder / "sample"
        self.assertGreaterEqual(sample_tree(local, scaled(1200, 300)), scaled(1000, 300))
        server = self.server()
        self.there_and_back(server, "/files", local)
        self.assertEqual(differences(local, self.files / "sample"), [])

    def test_real_files_to_memory(self):
        local = self.folder / "sample"
        self.assertGreaterEqual(sample_tree(local, scaled(1200, 300)), scaled(1000, 300))
        self.there_and_back(self.server(), "/memory", local)

    def test_with_crc(self):
        local = make_tree(self.folder / "tree", scaled(200, 60), largest=300000)
        server = self.server(options=["--crc", "on"])
        self.there_and_back(server, "/memory", local)

    def test_at_the_smallest_inline_threshold(self):
        local = make_tree(self.folder / "tree", scaled(200, 60))
        server = self.server(options=["--inline-threshold", "1024", "--credits", "1"])
        self.there_and_back(server, "/files", local)

    def test_on_several_threads(self):
        local = make_tree(self.folder / "tree", scaled(200, 60))
        server = self.server(options=["--threads", "4"])
        self.there_and_back(server, "/files", local)

    def test_deep_folders(self):
        deep = self.folder / "deep"
        for index in range(60):
            deep = deep / f"level-{index}"
        deep.mkdir(parents=True)
        (deep / "bottom").write_bytes(b"here")
        self.there_and_back(self.server(), "/files", self.folder / "deep")
