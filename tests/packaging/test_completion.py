# SPDX-License-Identifier: BSD-3-Clause
"""Completion of the programs' command lines in bash and zsh."""
import os
import tempfile
import unittest
from pathlib import Path

from kit import BUILD, PROGRAMS, described, needs, run

FOLDER = BUILD / "share/completion"
COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_${1//-/_}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Runs an interactive zsh on a pseudo terminal; prints the completions that it shows after two TABs.
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; unsetopt ZLE_RPROMPT_INDENT; fpath=($1 \\$fpath); autoload -U compinit; compinit -u -d $2"
zpty -w shell "zstyle ':completion:*' list-colors ''; LISTMAX=0; zstyle ':completion:*' format ''; print -r READY-$((1))"
zpty -r shell seen '*READY-1*'
zpty -n -w shell "$3"$'\\t\\t'
zpty -r shell seen "*$4*"
print -r -- "$seen"
"""


def bash(program, *words, folder="/"):
    """Returns the completions of the last word in `program words...`."""
    done = run("bash", "--norc", "-c", COMPLETE, "bash", FOLDER / "bash" / program, program, *words, cwd=folder)
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


class Bash(unittest.TestCase):
    def test_every_option(self):
        for program in PROGRAMS:
            names = {name for option in described(program)["options"] for name in option["names"]}
            self.assertEqual(set(bash(program, "-")), names, program)

    def test_choices(self):
        for words in (("--fabric", ""), ("--fabric", "="), ("--fabric", "=", "")):
            self.assertEqual(bash("rpcrdma-nfsd", *words), ["auto", "verbs", "iwarp"], words)
        self.assertEqual(bash("rpcrdma-nfsd", "--fabric", "=", "v"), ["verbs"])
        self.assertEqual(bash("rpcrdma-ping", "--crc", "o"), ["on", "off"])
        others = {"rpcrdma-conform", "rpcrdma-proxy", "rpcrdma-sim", "rpcrdma-top"}  # have neither option
        for program in set(PROGRAMS) - others - {"rpcrdma-ip"}:
            self.assertEqual(bash(program, "--rdma-version", ""), ["1", "2", "auto"], program)
        for program in set(PROGRAMS) - others:
            self.assertEqual(bash(program, "--poll", ""), ["auto", "off"], program)
        self.assertEqual(bash("rpcrdma-nfsd", "--threads", ""), [])

    @unittest.skipUnless("rpcrdma-bench" in PROGRAMS, "rpcrdma-bench is not built")
    def test_choices_of_arguments(self):
        self.assertEqual(bash("rpcrdma-bench", "read_4k_q"), ["read_4k_qd32"])
        self.assertEqual(bash("rpcrdma-bench", "--quick", "null_rtt", "setup_f"), ["setup_fallback"])

    def test_commands(self):
        names = [command["name"] for command in described("rpcrdma-nfs")["commands"]]
        self.assertEqual(bash("rpcrdma-nfs", ""), names)
        self.assertEqual(bash("rpcrdma-nfs", "--timeout", "5", "--fabric=iwarp", "re"), ["readlink"])
        self.assertEqual(bash("rpcrdma-nfs", "--fabric", "=", "iwarp", "re"), ["readlink"])
        self.assertEqual(bash("rpcrdma-nfs", "get", "--re"), ["--resume"])
        self.assertEqual(bash("rpcrdma-nfs", "rm", "--re"), [])
        self.assertEqual(bash("rpcrdma-nfs", "ls", ""), ["nfs://"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "directory").mkdir()
            (Path(folder) / "file").touch()
            self.assertEqual(set(bash("rpcrdma-nfs", "put", "", folder=folder)), {"directory", "file"})
            self.assertEqual(bash("rpcrdma-nfs", "put", "file", "", folder=folder), ["nfs://"])
            self.assertEqual(set(bash("rpcrdma-nfs", "get", "nfs://h/e", "", folder=folder)), {"directory", "file"})
            self.assertEqual(bash("rpcrdma-nfsd", "--state-dir", "", folder=folder), ["directory"])
            self.assertEqual(bash("rpcrdma-nfsd", "--export", "", folder=folder), ["directory", "memory:"])
            self.assertEqual(set(bash("rpcrdma-nfsd", "--config", "", folder=folder)), {"directory", "file"})

    def test_registered(self):
        for program in PROGRAMS:
            done = run("bash", "--norc", "-c", f"source {FOLDER}/bash/{program} && complete -p {program}")
            self.assertIn(f"-F _{program.replace('-', '_')} {program}", done.stdout)


@needs("zsh")
class Zsh(unittest.TestCase):
    def offered(self, typed, last):
        """Returns what zsh shows after `typed` and two TABs, up to the word `last`."""
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script"
            script.write_text(ZSH)
            done = run("zsh", "-f", script, FOLDER / "zsh", f"{folder}/dump", typed, last,
                       env=dict(os.environ, TERM="dumb", ZDOTDIR=folder, HOME=folder))
            self.assertEqual(done.stderr, "")
            return done.stdout

    def test_syntax(self):
        for program in PROGRAMS:
            done = run("zsh", "-n", FOLDER / "zsh" / f"_{program}")
            self.assertEqual((done.returncode, done.stderr), (0, ""), program)

    def test_options_and_choices(self):
        self.assertIn("--fabric", self.offered("rpcrdma-nfsd --", "tcp-listen"))
        self.assertIn("iwarp", self.offered("rpcrdma-nfsd --fabric ", "verbs"))

    def test_commands(self):
        self.assertIn("readlink", self.offered("rpcrdma-nfs ", "truncate"))
        self.assertIn("--resume", self.offered("rpcrdma-nfs get --", "--version"))
