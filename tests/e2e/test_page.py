# SPDX-License-Identifier: BSD-3-Clause
"""The live page in a browser, headless Chromium: the test reads the numbers of the page."""
import os
import re
import shutil
import subprocess
import unittest

from kit.case import Case
from kit.metrics import OPTIONS, stats
from kit.waiting import DEADLINE_S

BROWSER = os.environ.get("RPCRDMA_BROWSER") or shutil.which("chromium")
# It loads nothing but the page.
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")


@unittest.skipUnless(BROWSER, "Debian's package chromium is not installed, and RPCRDMA_BROWSER does not name a browser")
class Page(Case):
    def page_of(self, server):
        """The document after some seconds of the browser's own clock."""
        done = subprocess.run([BROWSER, *QUIET, f"--user-data-dir={self.folder / 'browser'}",
                               "--virtual-time-budget=5000", "--dump-dom", f"http://{server.metrics}/"],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self, document, table):
        """The cells of the rows of a table, without its head."""
        body = re.search(rf'<table id="{table}">(.*?)</table>', document, re.DOTALL).group(1)
        return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", body)][1:]

    def test_an_idle_server(self):
        server = self.server(options=OPTIONS)
        document = self.page_of(server)
        self.assertIn(">live</span>", document)
        self.assertEqual(self.rows(document, "procedures"), [["none yet"]])
        self.assertEqual(self.rows(document, "connections"), [["none open"]])
        self.assertEqual(self.rows(document, "listeners"), [[server.address, server.fabric[0], "0", "0", "0", "0", "0", "0 B", "0 B", "0"]])

    def test_numbers(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        for _ in range(3):
            self.nfs_fails("stat", server.url("memory/none"))
        rows = {row[0]: row for row in self.rows(self.page_of(server), "procedures")}
        self.assertEqual({name for name in rows if not name.startswith("mount")},
                         {one["procedure"] for one in stats(server)["procedures"] if one["program"] == "nfs"})
        self.assertEqual(rows["LOOKUP"][9], "NOENT 3")
        self.assertEqual(rows["READDIR"][7], "1")
