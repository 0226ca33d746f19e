# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages: they cause no warnings, and describe every option and key."""
import os
import re
import unittest

from kit import BUILD, PROGRAMS, TOP, described, needs, options_of, run

PAGES = sorted((BUILD / "share/man").glob("man*/*"))
KEY_OF_SOURCE = re.compile(r'\bk == "([a-z-]+)"')


def rendered(page):
    shown = run("man", "-P", "cat", "-l", page, env=dict(os.environ, MANWIDTH="200", LC_ALL="C.UTF-8"))
    return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", shown.stdout)


def page_of(name):
    return next(page for page in PAGES if page.stem == name)


class Manual(unittest.TestCase):
    def test_pages(self):
        names = {page.name for page in PAGES}
        self.assertLessEqual({"rpcrdma-nfsd.8", "rpcrdma-nfsd.toml.5", "rpcrdma-nfs.1", "rpcrdma-ping.1", "rpcrdma-ip.8",
                              "rpcrdma-conform.1", "rpcrdma-proxy.1", "rpcrdma-sim.1", "rpcrdma-top.1", "rpcrdma.7"}, names)

    @needs("mandoc")
    def test_mandoc(self):
        for page in PAGES:
            self.assertEqual(run("mandoc", "-Tlint", page).stdout, "", page.name)

    @needs("man")
    def test_groff(self):
        for page in PAGES:
            done = run("man", "--warnings=w", "-P", "cat", "-l", page, env=dict(os.environ, LC_ALL="C.UTF-8"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)
            self.assertNotIn("@", re.sub(r"\S*iwarp@\S*|\[FABRIC@\]", "", done.stdout), page.name)

    @needs("man")
    def test_every_option_of_the_help_is_in_the_page(self):
        for program in PROGRAMS:
            text = rendered(page_of(program))
            shown = run(BUILD / "bin" / program, "--help").stdout
            for option in options_of(described(program)):
                for name in option["names"]:
                    self.assertRegex(text, rf"(?<![\w-]){re.escape(name)}(?![\w-])", program)
            for name in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown, re.MULTILINE):
                self.assertIn(name, text, program)

    @needs("man")
    def test_the_overview_names_every_program(self):
        text = rendered(page_of("rpcrdma"))
        for program in PROGRAMS:
            self.assertRegex(text, rf"(?m)^ +{program}\([18]\)$")

    @needs("man")
    def test_every_key_of_the_configuration_is_in_the_page(self):
        text = rendered(page_of("rpcrdma-nfsd.toml"))
        sources = TOP / "demo-server/program/src"
        keys = {key for name in ("config_file.cpp", "config_export.cpp")
                for key in KEY_OF_SOURCE.findall((sources / name).read_text())} - {"export"}
        self.assertGreater(len(keys), 20)
        shown = set(re.findall(r"^ {7}([a-z][a-z-]*(?:, [a-z]+)?) \(", text, re.MULTILINE))
        self.assertEqual({word for entry in shown for word in entry.split(", ")}, keys)

    def test_every_program_has_examples(self):
        for program in PROGRAMS:
            description = described(program)
            self.assertIn("Examples", [section["title"] for section in description["sections"]], program)
            for command in description["commands"]:
                self.assertTrue(command["example"].startswith(f"{program} {command['name']} "), command["name"])
