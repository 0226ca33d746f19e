#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""installed.py ROOT PACKAGES: tests the packages in the folder PACKAGES, in the chroot ROOT. scripts/packages calls it
as root, in a mount and process namespace of its own. The first failure ends the test, because each step depends on
the steps before it."""
import filecmp
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEADLINE_S = 300
CONFIG = """listen = ["127.0.0.1:0"]
[[export]]
directory = "/srv/data"
squash = "none"
[[export]]
memory = true
name = "/scratch"
"""
# Not compared: databases and logs of the package manager, and the linker's cache, which every installation changes;
# /run, which is empty after each boot; the files of groups, because state() compares the names of groups instead.
CHANGING = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "proc", "dev", "tmp", "run", "etc/ld.so.cache",
            "etc/group", "etc/group-", "etc/gshadow", "etc/gshadow-")
LEFT_BY_LIBIBVERBS1 = {"rdma"}  # a group that the package libibverbs1 adds and does not remove


class Chroot:
    def __init__(self, root):
        self.root = Path(root)
        subprocess.run(["mount", "-t", "proc", "proc", self.root / "proc"], check=True)
        subprocess.run(["mount", "--rbind", "/dev", self.root / "dev"], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        # Forbids packages to start services.
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n")
        os.chmod(self.root / "usr/sbin/policy-rc.d", 0o755)

    def path(self, name):
        return self.root / name.lstrip("/")

    def write(self, name, text):
        self.path(name).write_text(text)

    def command(self, *words):
        return ["chroot", str(self.root), *map(str, words)]

    def run(self, *words, status=0):
        done = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=DEADLINE_S,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                                   "DEBIAN_FRONTEND": "noninteractive"})
        if done.returncode != status:
            sys.exit(f"{shlex.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}")
        return done.stdout

    def state(self):
        """Returns the type, mode, owner, and size or target of every file but those in CHANGING, and the names
        of groups. Users need not be listed, because a new user changes the size of /etc/passwd."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            place = os.path.relpath(folder, self.root)
            folders[:] = [name for name in folders if os.path.normpath(f"{place}/{name}") not in CHANGING]
            for name in folders + files:
                path = os.path.join(folder, name)
                shown = os.path.normpath(f"{place}/{name}")
                status = os.lstat(path)
                content = os.readlink(path) if os.path.islink(path) else status.st_size if name in files else ""
                if shown not in CHANGING:
                    found[shown] = (oct(status.st_mode), status.st_uid, status.st_gid, content)
        names = {line.split(":")[0] for line in self.path("/etc/group").read_text().splitlines()}
        return found | {"groups": tuple(sorted(names - LEFT_BY_LIBIBVERBS1))}

    def processes(self):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "root") == str(self.root):
                    yield process.name
            except OSError:
                continue


def step(text):
    print(f"    {text}", flush=True)


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        expect(time.monotonic() < deadline, what)
        time.sleep(0.1)


def install(chroot, packages):
    chroot.run("apt-get", "update")
    folder = chroot.path("/tmp/packages")
    folder.mkdir()
    names = []
    for package in sorted(Path(packages).glob("*.deb")):
        if "-dbgsym_" not in package.name:
            shutil.copy(package, folder)
            names.append(f"/tmp/packages/{package.name}")
    expect(len(names) == 6, f"six packages: {names}")
    chroot.run("apt-get", "install", "-y", "--no-install-recommends", *names)
    installed = [Path(name).name.split("_")[0] for name in names]
    step(f"installed {', '.join(installed)}")
    return installed


def unit_of(chroot):
    """Verifies the systemd unit; returns the command of its ExecStart."""
    unit = chroot.path("/lib/systemd/system/rpcrdma-nfsd.service")
    text = unit.read_text()
    verified = chroot.run("systemd-analyze", "verify", "--man=no", "rpcrdma-nfsd.service")
    expect(verified.strip() == "", verified)
    security = chroot.run("systemd-analyze", "security", "--offline=true", "--threshold=30",
                          "/lib/systemd/system/rpcrdma-nfsd.service")
    step(f"unit verified: {security.strip().splitlines()[-1].lstrip('→ ')}")
    expect(not list(chroot.path("/etc/systemd/system").rglob("rpcrdma-nfsd*")), "the service is not enabled")
    return shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1))


def maintained(chroot):
    """Checks that a removal stops the service, and that an upgrade restarts it only after its files have been replaced."""
    for script, words in (("prerm", "deb-systemd-invoke stop"), ("postinst", "deb-systemd-invoke $_dh_action")):
        text = chroot.path(f"/var/lib/dpkg/info/rpcrdma-server.{script}").read_text()
        expect(words in text and "rpcrdma-nfsd.service" in text, f"{script}: {words}\n{text}")
    before = chroot.path("/var/lib/dpkg/info/rpcrdma-server.preinst")
    expect(not before.exists() or "deb-systemd-invoke" not in before.read_text(), "preinst leaves the service alone")


def read_documents(chroot):
    """Checks that the documents are installed, and that each relative link in them leads to a file."""
    folder = chroot.path("/usr/share/doc/librpcrdma-doc")
    for name in ("README.md", "docs/README.md", "docs/requirements.tsv", "docs/guide/first-service.md", "examples/hello/hello.x"):
        expect((folder / name).is_file(), f"{name} is installed")
    documents = sorted(folder.rglob("*.md"))
    for document in documents:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            # The Debian packages have the file `copyright` instead of LICENSE.
            expect(link == "LICENSE" or (document.parent / link).exists(), f"{document}: {link}")
    step(f"read {len(documents)} documents and followed their links")


class Server:
    """The server, started by its ExecStart command, with the directories and the socket that systemd would provide."""

    def __init__(self, chroot, command):
        for name in ("/var/lib/rpcrdma-nfsd", "/run/rpcrdma-nfsd"):
            chroot.path(name).mkdir(mode=0o700)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.listener.settimeout(DEADLINE_S)
        self.listener.bind(str(chroot.path("/run/notify")))
        self.process = subprocess.Popen(chroot.command("env", "NOTIFY_SOCKET=/run/notify", *command),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        message = self.message()
        expect(message["READY"] == "1", message)
        self.address = re.search(r"rdma=(\S+) fabric=iwarp", message["STATUS"]).group(1)

    def message(self):
        return dict(line.split("=", 1) for line in self.listener.recv(4096).decode().splitlines())

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        expect(self.message().get("RELOADING") == "1" and self.message().get("READY") == "1", "reload")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        expect(self.message().get("STOPPING") == "1", "STOPPING=1")
        expect(self.process.wait(DEADLINE_S) == 0, "the server exits with 0")


def serve(chroot, command):
    refused = chroot.run(*command, status=2)
    expect(refused.count("\n") == 1 and "nothing to serve" in refused, refused)
    shipped = chroot.path("/etc/rpcrdma-nfsd.toml").read_text()
    chroot.write("/etc/rpcrdma-nfsd.toml", CONFIG)
    chroot.path("/srv/data").mkdir()
    server = Server(chroot, command)
    chroot.write("/tmp/file", "content\n" * 500_000)
    for export in ("data", "scratch"):
        url = f"nfs://{server.address}/{export}/file"
        chroot.run("rpcrdma-nfs", "put", "/tmp/file", url)
        chroot.run("rpcrdma-nfs", "get", url, f"/tmp/back-{export}")
        expect(filecmp.cmp(chroot.path("/tmp/file"), chroot.path(f"/tmp/back-{export}"), shallow=False), url)
    timed = chroot.run("rpcrdma-ping", "--count", "1000", server.address).strip().splitlines()[-1]
    server.reload()
    server.stop()
    step(f"served over iwarp by {shlex.join(command)}: {timed}")
    shutil.rmtree(chroot.path("/srv/data"))
    chroot.path("/run/notify").unlink()
    chroot.path("/run/rpcrdma-nfsd").rmdir()
    chroot.write("/etc/rpcrdma-nfsd.toml", shipped)


# Runs systemd as process 1, in namespaces of its own, on an overlay of the chroot. $1: the chroot, $2: a folder for the
# overlay.
BOOT = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mount -t proc proc proc
mount -o bind,ro proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs srv
mkdir -m 777 srv/data
ip link set lo up
exec chroot . env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  /lib/systemd/systemd --unit=basic.target --log-target=console --log-level=warning --show-status=0
"""


class System:
    """A running systemd; run() executes commands in its namespaces."""

    def __init__(self, chroot, control_group):
        self.folder = Path(f"{chroot.root}.system")
        self.folder.mkdir()
        self.log = open(f"{chroot.root}.log", "w+", encoding="utf-8")
        join = f"echo $$ > {control_group}/cgroup.procs && exec unshare --mount --pid --cgroup --net --uts --ipc --fork " \
               f"--kill-child bash -c {shlex.quote(BOOT)} boot {chroot.root} {self.folder}"
        self.process = subprocess.Popen(["bash", "-c", join], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + DEADLINE_S
        while self.run("systemctl", "is-active", "basic.target", check=False).strip() != "active":
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                sys.exit(f"systemd did not start:\n{self.log.read()}")
            time.sleep(0.2)

    def first_process(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return children[0] if children else None

    def run(self, *words, check=True):
        first = self.first_process()
        if first is None:
            return ""
        enter = ["nsenter", "--target", first, "--all", f"--root=/proc/{first}/root", "--wd=/"]
        done = subprocess.run([*enter, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=DEADLINE_S,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
        if check and done.returncode != 0:
            sys.exit(f"{shlex.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}")
        return done.stdout

    def property(self, name):
        return self.run("systemctl", "show", "--value", "-p", name, "rpcrdma-nfsd").strip()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def control_group():
    """Returns a new control group for systemd, or None if control groups of version 2 are not mounted or not writable."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options = line.split()[:4]
        if kind == "cgroup2" and options.split(",")[0] == "rw":
            return Path(tempfile.mkdtemp(prefix="rpcrdma-packages-", dir=folder))
    return None


def confined(system):
    """Checks that the server accesses files with the identity of its callers, although the unit confines it."""
    system.run("sh", "-c", f"cat > /etc/rpcrdma-nfsd.toml <<'END'\n{CONFIG}END")
    system.run("systemctl", "start", "rpcrdma-nfsd")
    status = system.property("StatusText")
    address = re.search(r"rdma=(\S+) fabric=iwarp", status).group(1)
    system.run("sh", "-c", "seq 500000 > /tmp/file")
    url = f"nfs://{address}/data/file"
    system.run("rpcrdma-nfs", "--uid", "1234", "--gid", "2345", "put", "/tmp/file", url)
    system.run("rpcrdma-nfs", "--uid", "1234", "--gid", "2345", "get", url, "/tmp/back")
    system.run("cmp", "/tmp/file", "/tmp/back")
    expect(system.run("stat", "-c", "%u:%g", "/srv/data/file").strip() == "1234:2345", "the file belongs to the caller")
    system.run("rpcrdma-nfs", "chmod", "4755", url)
    expect(system.run("stat", "-c", "%a", "/srv/data/file").strip() == "4755", "root of the client sets set-id bits")
    system.run("sh", "-c", "printf '[[export]]\\nmemory = true\\nname = \"/more\"\\n' >> /etc/rpcrdma-nfsd.toml")
    system.run("systemctl", "reload", "rpcrdma-nfsd")
    wait_until(lambda: system.run("rpcrdma-nfs", "ls", f"nfs://{address}/more", check=False) == "", "/more is served")
    expect(system.property("ActiveState") == "active", "active after the reload")
    expect(system.run("stat", "-c", "%a", "/var/lib/rpcrdma-nfsd").strip() == "700", "the state directory")
    system.run("systemctl", "stop", "rpcrdma-nfsd")
    expect((system.property("ActiveState"), system.property("Result")) == ("inactive", "success"), "stopped")


def serve_under_systemd(chroot):
    group = control_group()
    if group is None:
        step("no control groups of version 2: not tested under systemd")
        return
    system = System(chroot, group)
    try:
        confined(system)
    finally:
        system.end()
        wait_until(lambda: "populated 0" in (group / "cgroup.events").read_text(), "the processes of systemd end")
        for folder, _, _ in os.walk(group, topdown=False):
            os.rmdir(folder)
    step("served under systemd: started, reloaded and stopped, confined as the unit says")


def render_pages(chroot):
    listed = chroot.run("sh", "-c", "dpkg -L rpcrdma-server rpcrdma-tools librpcrdma-dev | grep '/man[1-8]/.*gz$'").split()
    expect(len(listed) >= 6, f"manual pages: {listed}")
    for page in listed:
        shown = chroot.run("mandoc", "-Tutf8", "-Wwarning,stop", page)
        expect("SEE ALSO" in re.sub(".\b", "", shown), page)
    step(f"rendered {', '.join(Path(page).stem for page in listed)}")


def purge(chroot, installed, before):
    chroot.run("apt-get", "purge", "-y", *installed)
    chroot.run("apt-get", "autoremove", "-y", "--purge")
    after = chroot.state()
    left = {name: after.get(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    expect(not left, f"left behind or changed: {left}")
    expect(not list(chroot.processes()), "no process is left")
    step(f"purged: {len(after)} files, users and groups as before, no process")


def main():
    chroot = Chroot(sys.argv[1])
    before = chroot.state()
    installed = install(chroot, sys.argv[2])
    command = unit_of(chroot)
    maintained(chroot)
    serve(chroot, command)
    serve_under_systemd(chroot)
    render_pages(chroot)
    read_documents(chroot)
    purge(chroot, installed, before)


if __name__ == "__main__":
    main()
