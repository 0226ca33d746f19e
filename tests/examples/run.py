#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py FOLDER NAME [FABRIC [ADDRESS]]: runs the example NAME, whose programs are below FOLDER, as its README says, and
checks what it prints. Its server listens on a free port of ADDRESS, by default 127.0.0.1."""
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEADLINE_S = 120  # for a machine ten times slower


def program(folder, name):
    for found in sorted(Path(folder).rglob(name)):
        if found.is_file() and os.access(found, os.X_OK):
            return str(found)
    raise SystemExit(f"no program {name} below {folder}")


def reserve_port(address):
    """Returns a socket and the port that it is bound to. While the socket is open, no other process gets the port. The
    socket does not listen, so a server may listen on the port."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((address, 0))
    return holder, holder.getsockname()[1]


def expect(what, found, wanted):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r} instead of {wanted!r}")


class Process:
    """A background process. The end of the `with` block kills it."""

    def __init__(self, *command):
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()

    def line(self):
        """Returns the next line of the process's output."""
        end = time.monotonic() + DEADLINE_S
        while b"\n" not in self.text:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, end - time.monotonic()))
            more = os.read(self.child.stdout.fileno(), 4096) if ready else b""
            if not more:
                raise SystemExit(f"{self.child.args}: no line, but {self.text!r}")
            self.text += more
        line, self.text = self.text.split(b"\n", 1)
        return line.decode()

    def stop(self):
        """Sends SIGTERM to the process, as a service manager does, and returns its exit status."""
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(DEADLINE_S)


def run(*command, status=0):
    """Runs a program to its end. Returns its output, or its error output if a failure is expected."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    expect(f"status of {command} ({done.stderr.strip()})", done.returncode, status)
    return done.stdout if status == 0 else done.stderr


def wait_for_tcp(address):
    """On TCP, waits until the server listens. On other fabrics the client retries."""
    fabric, where = address.split("@")
    host, port = where.rsplit(":", 1)
    end = time.monotonic() + DEADLINE_S
    while fabric == "tcp":
        try:
            return socket.create_connection((host, int(port)), timeout=DEADLINE_S).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
    return None


def slow(address):
    """Returns whether the example must move less data. On RDMA devices it runs in an emulated machine (tests/interop),
    and the stubs of rpcgen time out after 25 s."""
    return address.startswith("verbs@")


def expect_unreadable(server):
    said = run(server, "one@two@three", status=1)
    expect("lines about an address", (said.count("\n"), "address 'one@two@three'" in said), (1, True))


def hello(folder, address):
    expect_unreadable(program(folder, "hello-server"))
    with Process(program(folder, "hello-server"), address) as server:
        wait_for_tcp(address)
        for name in ("world", "x" * 200):
            expect("greeting", run(program(folder, "hello-client"), address, name), f"Hello, {name}\n")
        expect("status of the server", server.stop(), 0)


def blob_store(folder, address):
    client = program(folder, "blob-client")
    expect_unreadable(program(folder, "blob-server"))
    with tempfile.TemporaryDirectory() as name, Process(program(folder, "blob-server"), address) as server:
        wait_for_tcp(address)
        into = Path(name, "into")
        with Process(client, address, "watch") as watcher:
            expect("watcher", watcher.line(), "watching")
            # A large value, a value whose last piece is short, and a short value that replaces the large one.
            for key, size in (("large", (4 if slow(address) else 64) << 20), ("odd", (3 << 20) + 4711), ("large", 5)):
                file = Path(name, "from")
                file.write_bytes(random.Random(size).randbytes(size))
                run(client, address, "put", key, str(file))
                if not address.startswith("tcp@"):
                    expect("notification", watcher.line(), f"changed {key} {size}")
                run(client, address, "get", key, str(into))
                if into.read_bytes() != file.read_bytes():
                    raise SystemExit(f"{key} differs")
        if not slow(address):
            for number in range(14):
                run(client, address, "put", f"small{number}", str(into))
            expect("error", run(client, address, "put", "beyond", str(into), status=1), "blob-client: the store is full\n")
            run(client, address, "put", "odd", str(into))
        expect("error", run(client, address, "get", "missing", str(into), status=1), "blob-client: no such blob\n")
        expect("status of the server", server.stop(), 0)


def rpcgen_calc(folder, address):
    with Process(program(folder, "calc-server"), "--rdma", address) as server:
        expect("server", server.line(), "ready")
        client = program(folder, "calc-client")
        count = "10000" if slow(address) else "100000"
        expect("product", run(client, "--rdma", address, "multiply", "6", "7"), "42\n")
        expect("sorted", run(client, "--rdma", address, "sort", count), f"{count} sorted\n")


def main():
    folder, name, fabric, address = (sys.argv[1:] + ["iwarp", "127.0.0.1"][len(sys.argv) - 3:])[:4]
    run_example = {"hello": hello, "blob-store": blob_store, "rpcgen-calc": rpcgen_calc}[name]
    holder, port = reserve_port(address)
    with holder:
        run_example(folder, f"{fabric}@{address}:{port}")


main()
