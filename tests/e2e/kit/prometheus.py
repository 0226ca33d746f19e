# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Prometheus, which scrapes one server once a second."""
import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from kit.waiting import DEADLINE_S, wait_until

FRESH_S = 0.5  # if its last report is as old as this, the server makes a new one for a scrape
CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: rpcrdma
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """A context manager. Its database is in `folder`."""

    def __init__(self, folder, target):
        folder.mkdir()
        self.log_path = folder / "log"
        configuration = folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(target=target))
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
                                             "--web.listen-address=127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.address = None

    def __enter__(self):
        self.address = wait_until(self._listening, f"the address in {self.log_path}")
        wait_until(self._ready, "that Prometheus answers queries", interval_s=0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def _listening(self):
        log = self.log_path.read_text(errors="replace")
        if self.process.poll() is not None:
            raise AssertionError(f"Prometheus has ended: {log[-2000:]}")
        match = re.search(r'msg="Listening on" address=(\S+)', log)
        return match and match.group(1)

    def _ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=DEADLINE_S):
                return True
        except urllib.error.HTTPError:
            return False

    def query(self, expression):
        """{labels as a frozenset of pairs, without the name: value}"""
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            found = json.load(answer)["data"]["result"]
        return {frozenset(item for item in one["metric"].items() if item[0] != "__name__"): float(one["value"][1]) for one in found}

    def value(self, expression):
        """The value of an expression whose result has no labels; None if there is no result."""
        return self.query(expression).get(frozenset())

    def wait_for_a_scrape(self):
        """Waits for a scrape that begins late enough to return a report made after this call."""
        now = time.time()
        wait_until(lambda: (self.value("max(timestamp(rpcrdma_build_info))") or 0) > now + FRESH_S, "a scrape", interval_s=0.1)
