# SPDX-License-Identifier: BSD-3-Clause
"""The systemd unit of the server, and the configuration file that is installed with it."""
import os
import re
import tempfile
import unittest
from pathlib import Path

from kit import BUILD, TOP, needs, run

UNIT = BUILD / "packaging/systemd/rpcrdma-nfsd.service"
CONFIG = TOP / "packaging/rpcrdma-nfsd.toml"


class Unit(unittest.TestCase):
    def with_program(self, folder):
        """Returns a copy of the unit that runs the program of the build: the test needs no installed program."""
        unit = Path(folder) / "rpcrdma-nfsd.service"
        text, replaced = re.subn(r"^ExecStart=\S+", f"ExecStart={BUILD}/bin/rpcrdma-nfsd", UNIT.read_text(),
                                 flags=re.MULTILINE)
        self.assertEqual(replaced, 1)
        unit.write_text(text)
        return unit

    @needs("systemd-analyze")
    def test_verify(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("systemd-analyze", "verify", "--man=no", self.with_program(folder))
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    @needs("systemd-analyze")
    def test_exposure(self):
        done = run("systemd-analyze", "security", "--offline=true", "--threshold=30", UNIT)
        self.assertEqual(done.returncode, 0, done.stdout[-200:])


@needs("cmake")
class Installation(unittest.TestCase):
    def install(self, root, prefix):
        done = run("cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", BUILD / "packaging/cmake_install.cmake",
                   env=dict(os.environ, DESTDIR=root))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_another_prefix(self):
        """The prefix is given at installation time: all files are below it, and the files that contain paths name it."""
        with tempfile.TemporaryDirectory() as root:
            self.install(root, "/opt/other")
            self.assertEqual([path.name for path in Path(root).iterdir()], ["opt"])
            prefix = Path(root, "opt/other")
            self.assertEqual([path.name for path in prefix.parent.iterdir()], ["other"])
            (unit,) = prefix.rglob("rpcrdma-nfsd.service")
            self.assertIn("\nExecStart=/opt/other/sbin/rpcrdma-nfsd --config /opt/other/etc/rpcrdma-nfsd.toml\n", unit.read_text())
            for page in ("man5/rpcrdma-nfsd.toml.5", "man8/rpcrdma-nfsd.8"):
                self.assertIn("/opt/other/etc/rpcrdma", (prefix / "share/man" / page).read_text(), page)
            # A second installation keeps the operator's settings.
            settings = prefix / "etc/rpcrdma-nfsd.toml"
            self.assertEqual(settings.read_text(), CONFIG.read_text())
            settings.write_text("threads = 1\n")
            self.install(root, "/opt/other")
            self.assertEqual(settings.read_text(), "threads = 1\n")

    def test_a_relative_prefix(self):
        """As with cmake --install BUILD --prefix here: the prefix is relative to the current folder."""
        with tempfile.TemporaryDirectory() as folder:
            done = run("cmake", "-DCMAKE_INSTALL_PREFIX=here", "-P", BUILD / "packaging/cmake_install.cmake", cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            (unit,) = Path(folder, "here").rglob("rpcrdma-nfsd.service")
            self.assertIn(f"\nExecStart={folder}/here/sbin/rpcrdma-nfsd ", unit.read_text())

    def test_usr(self):
        with tempfile.TemporaryDirectory() as root:
            self.install(root, "/usr")
            self.assertTrue(Path(root, "etc/rpcrdma-nfsd.toml").is_file())
            (unit,) = Path(root).rglob("rpcrdma-nfsd.service")
            self.assertIn("\nExecStart=/usr/sbin/rpcrdma-nfsd --config /etc/rpcrdma-nfsd.toml\n", unit.read_text())


class Configuration(unittest.TestCase):
    def start(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "nfsd.toml"
            config.write_text(text)
            return run(BUILD / "bin/rpcrdma-nfsd", "--config", config, "--state-dir", folder, *options)

    def test_refused_without_an_export(self):
        done = self.start(CONFIG.read_text())
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^rpcrdma-nfsd: \S+: nothing to serve: [^\n]*\n$")

    def test_every_commented_line_is_valid(self):
        text = re.sub(r"^#(?=[a-z\[])", "", CONFIG.read_text(), flags=re.MULTILINE)
        self.assertIn("[[export]]", text)
        # The only error is an invalid option on the command line. The server reports it after it has read the file.
        done = self.start(text, "--listen", "nonsense")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--listen: not ADDR:PORT", done.stderr)

    def test_every_key_is_shown(self):
        keys = set(re.findall(r"^#([a-z-]+) =", CONFIG.read_text(), re.MULTILINE))
        sources = TOP / "demo-server/program/src"
        known = {key for name in ("config_file.cpp", "config_export.cpp")
                 for key in re.findall(r'\bk == "([a-z-]+)"', (sources / name).read_text())} - {"export"}
        self.assertEqual(keys, known)
