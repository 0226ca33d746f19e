# SPDX-License-Identifier: BSD-3-Clause
"""The interop suites: one virtual machine each."""
import filecmp
import os
import shutil
import socket
import subprocess

from kit.server import binary
from kit.trees import differences, make_tree, write_noise
from kit.waiting import DEADLINE_S, scaled, wait_until
from vmkit import capture, histograms
from vmkit.machine import Machine


def installed(program):
    """Whether `program` is installed on this host, and therefore in the machine."""
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


class FabricOnRxe(Machine):
    name = "fabric-rxe"
    timeout_s = 1500

    def test(self):
        """The fabric's conformance tests, and tests with the kernel's server as the peer."""
        self.run_guest("fabric.sh", "rxe")


class DevicesOnRxe(Machine):
    name = "device-rxe"
    label = "vm-more"
    timeout_s = 1500

    def test(self):
        """Devices that are removed and come back, under the fabric and under both programs."""
        self.run_guest("device.sh")


class FabricOnSiw(Machine):
    name = "fabric-siw"
    label = "vm-more"
    timeout_s = 1500
    siw = True

    def test(self):
        """The fabric's conformance tests on a device without memory windows, and hand-driven iWARP peers."""
        self.run_guest("fabric.sh", "siw")


class MoreFabricOnRxe(FabricOnRxe):
    name = "fabric-rxe-more"
    label = "vm-more"
    more = True
    processors = 2


class MoreFabricOnSiw(FabricOnSiw):
    name = "fabric-siw-more"
    label = "vm-more"
    more = True
    processors = 2


class EndToEndOnRxe(Machine):
    name = "e2e-rxe"
    label = "vm-more"
    processors = 2
    timeout_s = 2500

    def test(self):
        """The end-to-end tests over verbs: of the programs, and those with a hand-driven peer."""
        self.run_guest("e2e.sh", "default")
        seen = capture.decoded(self.out / "e2e-rxe.pcap")
        capture.check(self, seen)
        capture.check_long_call(self, seen)
        self.assertTrue(any(packet.does("send with invalidate") for packet in seen))
        capture.check_own(self, self.out / "captures", self.out / "e2e-rxe.pcap", 20)


class MoreEndToEndOnRxe(Machine):
    name = "e2e-rxe-more"
    label = "vm-more"
    processors = 2
    timeout_s = 3000

    def test(self):
        """The remaining end-to-end tests over verbs. They use the device in the same ways as those of
        e2e-rxe."""
        self.run_guest("e2e.sh", "more")


class Probes(Machine):
    name = "probes"
    label = "vm-more"
    timeout_s = 1500

    def test(self):
        """The project's script for bpftrace, on both programs: its histograms count every call."""
        self.assertTrue(installed("bpftrace"), "bpftrace is not installed")
        self.run_guest("probes.sh")
        calls = histograms.check(self, self.out, "server", histograms.SERVER)
        self.assertEqual(calls, sum(histograms.check(self, self.out, name, histograms.CLIENT) for name in ("put", "get")))


class VersionsOnRxe(Machine):
    name = "versions-rxe"
    label = "vm-more"
    timeout_s = 1500
    port_of_kernel = port_of_ours = None
    device = "rxe"

    def test(self):
        """The client offers version two to the kernel's server, which supports only version one; the server serves the
        kernel's client with version one."""
        self.run_guest("versions.sh", self.device)
        capture.check_fallback(self, capture.decoded(self.out / f"fallback-{self.device}.pcap", self.port_of_kernel))
        served = capture.decoded(self.out / f"server-{self.device}.pcap", self.port_of_ours)
        self.assertFalse([packet for packet in served if packet.has("rpcrdma2")])
        self.assertTrue(any(packet.has("rpcordma") for packet in served))


class VersionsOnSiw(VersionsOnRxe):
    name = "versions-siw"
    label = "vm-more"
    siw = True
    port_of_kernel, port_of_ours = 20049, 20050
    device = "siw"


class ExamplesOnRxe(Machine):
    name = "examples-rxe"
    label = "vm-more"
    timeout_s = 1500
    needs = "package_examples"

    def test(self):
        """Programs that were built outside of the tree with the installed library, over verbs."""
        self.run_guest("examples.sh")


class IpOnRxe(Machine):
    name = "ip-rxe"
    label = "vm-more"
    timeout_s = 1500

    def test(self):
        """rpcrdma-ip over verbs, and NFS through its link."""
        for program in ("iperf3", "ping"):
            self.assertTrue(installed(program), f"{program} is not installed")
        self.run_guest("ipoib.sh")


class LinksOnRxe(Machine):
    name = "links-rxe"
    label = "vm-more"
    timeout_s = 2400

    def test(self):
        """Links of IP over verbs: requests that cross, hostile and stuck neighbours; rpcrdma-ip on up to five devices."""
        for program in ("iperf3", "ping"):
            self.assertTrue(installed(program), f"{program} is not installed")
        self.run_guest("links.sh")


class MoreIpOnRxe(LinksOnRxe):
    name = "ip-rxe-more"
    label = "vm-more"
    more = True
    timeout_s = 3600


class WithInput(Machine):
    """Prepares the input of the kernel's client: `big` and `tree.tar`."""

    def make_input(self, big_mib, files):
        write_noise(self.input / "big", big_mib << 20)
        tree = make_tree(self.folder / "tree", files, largest=12000)
        subprocess.run(["tar", "-C", str(tree), "-cf", str(self.input / "tree.tar"), "."], check=True)


class Posix(Machine):
    name = "posix"
    label = "vm-more"
    timeout_s = 1200

    def test(self):
        """Programs observe the same behaviour through the kernel's client on rpcrdma-nfsd and on the kernel's server."""
        self.run_guest("posix.sh")


class Workloads(Machine):
    name = "workloads"
    label = "vm-more"
    timeout_s = 2700

    def test(self):
        """File system tests, git and a compiler on rpcrdma-nfsd and on the kernel's server: no failures, the same results."""
        for program in ("fio", "dbench", "postmark", "bonnie++", "fs_mark", "stress-ng", "git", "make", "g++"):
            self.assertTrue(installed(program), f"{program} is not installed")
        self.run_guest("workloads.sh")


class Troubles(Machine):
    name = "troubles"
    label = "vm-more"
    timeout_s = 1500

    def test(self):
        """File systems that are full, at a quota, or failing, on rpcrdma-nfsd and on the kernel's server."""
        self.assertTrue(installed("dmsetup"), "dmsetup is not installed")
        self.run_guest("troubles.sh")


class Power(Machine):
    name = "power"
    label = "vm-more"
    timeout_s = 1500

    def test(self):
        """Every change that the server has confirmed is on the disk when the power fails."""
        self.assertTrue(installed("fsck.ext4"), "fsck.ext4 is not installed")
        self.run_guest("power.sh")


class KernelOnRxe(WithInput):
    name = "rxe"
    timeout_s = 2700
    memory_mib = 4096
    inputs = scaled(256, 64), scaled(5000, 100)

    def test(self):
        """The kernel's client on rpcrdma-nfsd, and rpcrdma-nfs on the kernel's server."""
        self.make_input(*self.inputs)
        self.run_guest("rxe.sh", self.input)
        seen = capture.decoded(self.out / "mount-rxe.pcap")
        capture.check(self, seen)
        self.assertTrue(any(packet.does("send with invalidate") for packet in seen))
        ours = capture.decoded(self.out / "knfsd-rxe.pcap")
        capture.check(self, ours)
        capture.check_long_call(self, ours)
        self.assertTrue(any(packet.does("send with invalidate") for packet in ours))


class MoreKernelOnRxe(KernelOnRxe):
    name = "rxe-more"
    label = "vm-more"
    more = True
    timeout_s = 2700
    inputs = 256, scaled(5000, 1500)


class KernelOnSiw(WithInput):
    name = "siw"
    timeout_s = 2600
    siw = True

    def test(self):
        """The kernel's client on rpcrdma-nfsd over iwarp; rpcrdma-nfs over verbs on the kernel's server; rpcrdma-nfs on
        rpcrdma-nfsd; devices that are removed or cannot be used; a low limit of locked memory; a client outside the
        machine."""
        self.make_input(scaled(256, 64), scaled(1500, 100))
        make_tree(self.input / "small", 30)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        machine = self.start("siw.sh", self.input, forward=[(port, 20049)])
        wait_until(lambda: (self.out / "ready").exists() or machine.poll() is not None, "the guest", self.timeout_s)
        if machine.poll() is None:
            try:
                self.outside(f"127.0.0.1:{port}")
            finally:
                (self.out / "done").touch()
        self.passes(machine)
        self.check_captures()

    def check_captures(self):
        mount = capture.decoded(self.out / "mount-siw.pcap", 20050)
        capture.check(self, mount)
        self.assertTrue(any(packet.does("send with invalidate") for packet in mount))
        for name in ("knfsd-siw", "outside-siw"):
            ours = capture.decoded(self.out / f"{name}.pcap", 20049)
            capture.check(self, ours)
            capture.check_long_call(self, ours)
            # siw has no memory windows: over verbs the client offers no remote invalidation, and the server uses none.
            self.assertEqual(any(packet.does("send with invalidate") for packet in ours), name == "outside-siw")

    def nfs(self, *arguments):
        done = subprocess.run([binary("rpcrdma-nfs"), "--fabric", "iwarp", "--root-handle", "0100010000000000",
                               "--timeout", "300", *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def outside(self, address):
        """The iwarp client on this host, without an RDMA device, and the kernel's server in the guest."""
        root = f"nfs://{address}/root"
        self.shown(root)
        (self.out / "shown").touch()
        wait_until(lambda: (self.out / "outside-siw.pcap").exists(), "the capture")
        # siw may leave the first frame unread until more arrive. Opens 40 connections, each of which waits for its
        # first reply.
        for _ in range(40):
            done = subprocess.run([binary("rpcrdma-ping"), "--fabric", "iwarp", "--timeout", "300", "--count", "1", address],
                                  capture_output=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.nfs("put", "-r", self.input / "small", f"{root}/outside")
        self.nfs("get", "-r", f"{root}/outside", self.folder / "back")
        self.assertEqual(differences(self.input / "small", self.folder / "back"), [])
        file = self.folder / "file"
        write_noise(file, 24 << 20)
        self.nfs("put", file, f"{root}/file")
        self.nfs("get", f"{root}/file", self.folder / "file-back")
        self.assertTrue(filecmp.cmp(file, self.folder / "file-back", shallow=False))
        self.nfs("rm", f"{root}/file")
        self.commands(root)

    def shown(self, root):
        """Makes the transfers that the capture must show: bulk data in both directions, long replies, a long call."""
        file = self.folder / "shown"
        write_noise(file, 1 << 20)
        self.nfs("put", file, f"{root}/shown")
        self.nfs("get", f"{root}/shown", self.folder / "shown-back")
        self.assertTrue(filecmp.cmp(file, self.folder / "shown-back", shallow=False))
        names = sorted(f"an entry with a name of some length {number}" for number in range(1, 601))
        self.assertEqual(self.nfs("ls", f"{root}/many").splitlines(), names)
        self.assertEqual(len(self.nfs("ls", "-l", f"{root}/many").splitlines()), len(names))
        target = "".join(f"{number:04}/" for number in range(1, 801))
        self.nfs("ln", "-s", target, f"{root}/long")
        self.assertEqual(self.nfs("readlink", f"{root}/long"), target + "\n")

    def commands(self, root):
        """Checks commands other than put and get."""
        self.assertIn("answers", self.nfs("ping", root))
        self.nfs("mkdir", "-p", f"{root}/made/deeper")
        local = self.folder / "local"
        local.write_bytes(b"outside\n" * 1000)
        self.nfs("put", local, f"{root}/made/file")
        self.nfs("mv", f"{root}/made/file", f"{root}/made/deeper/moved")
        self.nfs("ln", f"{root}/made/deeper/moved", f"{root}/made/hard")
        self.nfs("ln", "-s", "deeper/moved", f"{root}/made/soft")
        self.assertEqual(self.nfs("readlink", f"{root}/made/soft"), "deeper/moved\n")
        self.nfs("chmod", "640", f"{root}/made/hard")
        self.nfs("truncate", "8", f"{root}/made/hard")
        self.assertEqual(self.nfs("cat", f"{root}/made/deeper/moved"), "outside\n")
        self.assertEqual(self.nfs("ls", f"{root}/made"), "deeper\nhard\nsoft\n")
        self.assertIn("640", self.nfs("stat", f"{root}/made/hard"))
        self.assertIn("-rw-r-----", self.nfs("ls", "-l", f"{root}/made"))
        self.assertTrue(self.nfs("df", root))
        self.nfs("rm", "-r", f"{root}/made")
        self.assertNotIn("made", self.nfs("ls", root))


class MoreKernelOnSiw(Machine):
    name = "siw-more"
    label = "vm-more"
    more = True
    timeout_s = 2000
    siw = True

    def test(self):
        """Both programs, with more pairs of fabrics; silent servers; many mounts and many connections."""
        self.run_guest("siw.sh", self.input)


class FaultsOnSiw(Machine):
    name = "faults-siw"
    label = "vm-more"
    more = True
    timeout_s = 7200
    siw = True

    def test(self):
        """The kernel's client on rpcrdma-nfsd, and rpcrdma-nfs on the kernel's server, through a proxy that causes 500
        faults for each of the two clients."""
        self.run_guest("siw.sh", self.input, "faults-linux", "faults-ours")
