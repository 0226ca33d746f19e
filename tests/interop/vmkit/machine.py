# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine that runs one script of guest/."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
BUILD = os.environ["RPCRDMA_BUILD"]


class Machine(unittest.TestCase):
    """The base of the suites. self.out gets the guest's files, self.input is a folder that the guest can read."""

    timeout_s = 300  # the limit of ctest; the limit of the machine is a little shorter
    label = "vm"  # "vm-more": only on demand
    more = False  # True: includes checks that take too long for every run (VM_MORE=1 in the guest)
    memory_mib = 3072
    processors = 1  # emulated processors wait for each other, which takes the host's processor time
    siw = False
    needs = "vm"  # the CTest fixture that it requires besides the machine itself

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rpcrdma-vm-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out, self.input = self.folder / "out", self.folder / "input"
        self.out.mkdir()
        self.input.mkdir()

    def start(self, script, *arguments, forward=()):
        """Starts the machine as a process, whose output appears here."""
        command = [str(HERE.parent.parent / "scripts" / "vm"), "run", "-o", str(self.out), "-t", str(self.timeout_s - 20),
                   "-m", str(self.memory_mib), "-p", str(self.processors)]
        if self.siw:
            command += ["--siw"]
        if self.more:
            command += ["-e", "VM_MORE=1"]
        for host, guest in forward:
            command += ["--forward", f"{host}:{guest}"]
        sys.stdout.flush()
        machine = subprocess.Popen([*command, str(HERE / "guest" / script), BUILD, *map(str, arguments)],
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(machine.wait)
        self.addCleanup(machine.terminate)
        return machine

    def passes(self, machine):
        status = machine.wait()
        meaning = {124: "the time limit was reached", 125: "the machine did not start, or stopped by itself"}
        self.assertEqual(status, 0, meaning.get(status, "a check failed, see above"))

    def run_guest(self, script, *arguments):
        self.passes(self.start(script, *arguments))
