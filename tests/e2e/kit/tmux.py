# SPDX-License-Identifier: BSD-3-Clause
"""A terminal with a shell: a server of tmux with a socket of its own."""
import os
import shutil
import subprocess
import unittest

from kit.waiting import DEADLINE_S, wait_until

needs_tmux = unittest.skipUnless(shutil.which("tmux"), "Debian's package tmux is not installed")
PROMPT = "ready> "


class Terminal:
    """A context manager. The socket of tmux is in `folder`."""

    def __init__(self, folder, width, height):
        folder.mkdir()
        self.environment = os.environ | {"TMUX_TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
        for name in ("TMUX", "COLUMNS", "LINES"):
            self.environment.pop(name, None)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height,
                   f"PS1='{PROMPT}' exec bash --norc --noprofile -i", ";",
                   "set-option", "-g", "status", "off", ";", "resize-window", "-x", width, "-y", height)

    def __enter__(self):
        try:
            self.wait_for(PROMPT.strip())
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._tmux("kill-server")

    def _tmux(self, *words):
        done = subprocess.run(["tmux", "-L", "e2e", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env=self.environment, timeout=DEADLINE_S, check=False)
        if done.returncode != 0:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def lines(self):
        """What the terminal shows, without empty lines at the end."""
        return self._tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def text(self):
        return "\n".join(self.lines())

    def enter(self, line):
        self._tmux("send-keys", "-l", line)
        self.press("Enter")

    def press(self, key):
        self._tmux("send-keys", key)

    def resize(self, width, height):
        self._tmux("resize-window", "-x", width, "-y", height)

    def flag(self, name):
        """A flag of the terminal, such as alternate_on and cursor_flag."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip() == "1"

    def wait_for(self, *texts):
        """Waits until the terminal shows all the texts; returns the lines."""
        def shown():
            lines = self.lines()
            return all(any(text in line for line in lines) for text in texts) and lines

        try:
            return wait_until(shown, "", interval_s=0.05)
        except AssertionError as error:
            raise AssertionError(f"not shown: {texts}\n{self.text()}") from error
