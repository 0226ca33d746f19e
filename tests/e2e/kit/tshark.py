# SPDX-License-Identifier: BSD-3-Clause
"""Decodes captures by tshark, an independent decoder."""
import functools
import subprocess

from kit.waiting import DEADLINE_S

FIELDS = {
    "frame.number": "number", "frame.protocols": "protocols", "iwarp_rdma.opcode": "opcodes",
    "rpcordma.msg_type": "message", "rpcordma.reads_count": "reads", "rpcordma.writes_count": "writes",
    "rpcordma.reply_count": "reply_chunk", "rpcordma.position": "positions", "rpc.msgtyp": "rpc",
    "nfs.procedure_v3": "procedure", "_ws.col.Info": "info",
}


@functools.cache
def options():
    """Disables all heuristics over TCP but MPA, so that the bytes of files are not taken for other protocols."""
    listed = subprocess.run(["tshark", "-G", "heuristic-decodes"], capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    guesses = [line.split("\t")[1] for line in listed.stdout.splitlines() if line.startswith("tcp\t")]
    if "iwarp_mpa" not in guesses:
        raise AssertionError("tshark knows no iWARP")
    others = [text for name in guesses if name not in ("iwarp_mpa", "rpc") for text in ("--disable-protocol", name)]
    return ["-n", "-o", "tcp.try_heuristic_first:TRUE", "--disable-heuristic", "rpc_tcp", *others]


def _run(path, *arguments):
    done = subprocess.run(["tshark", *options(), "-r", str(path), *arguments],
                          capture_output=True, text=True, errors="replace", timeout=4 * DEADLINE_S, check=False)
    if done.returncode != 0:
        raise AssertionError(f"tshark: {done.stderr}")
    return done.stdout.splitlines()


class Packet:
    """One packet's fields, as text; see FIELDS."""

    def __init__(self, line):
        self.__dict__.update(zip(FIELDS.values(), line.split("\t")))

    def has(self, protocol):
        return protocol in self.protocols.split(":")

    def opcode(self, value):
        return f"0x{value:02x}" in self.opcodes.split(",")

    def number_of(self, name):
        """A field of one number, or None."""
        text = getattr(self, name).split(",")[0]
        return int(text, 0) if text else None

    def __repr__(self):
        return "\t".join(f"{name}={value}" for name, value in vars(self).items() if value)


def packets(path):
    fields = [text for field in FIELDS for text in ("-e", field)]
    return [Packet(line) for line in _run(path, "-T", "fields", *fields)]


def crc_verdicts(path):
    """The numbers of CRCs that tshark finds good and bad."""
    lines = [line for line in _run(path, "-V") if "CRC check:" in line]
    good = sum("(Good CRC32)" in line for line in lines)
    return good, len(lines) - good
