# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium with one page, driven by the DevTools protocol."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
import unittest

from kit.waiting import DEADLINE_S, wait_until

BROWSER = os.environ.get("RPCRDMA_BROWSER") or shutil.which("chromium")
# With these options the browser loads nothing but the page.
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")

needs_browser = unittest.skipUnless(
    BROWSER, "Debian's package chromium is not installed, and RPCRDMA_BROWSER does not name a browser")


def pipe():
    """A pipe with descriptors above 9, which bash does not overwrite when it copies them to 3 and 4."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return high


class Browser:
    """A context manager. Messages are JSON, each followed by a zero byte: the browser reads them from descriptor 3 and
    writes to 4. Its profile and its log are in `folder`."""

    def __init__(self, folder):
        folder.mkdir()
        self.log_path, self.number, self.session, self.pending = folder / "log", 0, None, b""
        reads, self.sink = pipe()
        self.source, writes = pipe()
        with open(self.log_path, "wb") as log:
            command = ["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "bash", BROWSER, *QUIET,
                       "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}"]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=(reads, writes))
        os.close(reads)
        os.close(writes)

    def __enter__(self):
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.sink)
        os.close(self.source)

    def command(self, method, **parameters):
        """Sends a command to the page, or to the browser while there is no page; returns the result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.sink, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + DEADLINE_S
        while True:
            answer = self._receive(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self, end):
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.source], [], [], max(end - time.monotonic(), 0))
            part = os.read(self.source, 1 << 20) if ready else b""
            if not part:
                raise AssertionError(f"no answer of the browser: {self.log_path.read_text(errors='replace')[-2000:]}")
            self.pending += part
        message, _, self.pending = self.pending.partition(b"\0")
        return json.loads(message)

    def show(self, url):
        failure = self.command("Page.navigate", url=url).get("errorText")
        if failure:
            raise AssertionError(f"{url}: {failure}")
        wait_until(lambda: self.evaluate("document.readyState") == "complete", f"that {url} is loaded")

    def evaluate(self, expression):
        """The value of a JavaScript expression, converted from JSON."""
        done = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def resize(self, width, height):
        """Emulates a window of this size, on a telephone if the window is narrow."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=width < 500)

    def prefer(self, scheme):
        """Emulates the user's choice of the colour scheme "dark" or "light"."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        """Writes a PNG file of the whole page."""
        shot = self.command("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))
