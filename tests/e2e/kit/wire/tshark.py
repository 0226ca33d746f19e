# SPDX-License-Identifier: BSD-3-Clause
"""Decodes captures with tshark, an independent decoder, and this project's dissector of version two."""
import functools
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

from kit.waiting import DEADLINE_S

VERSION_TWO = Path(__file__).resolve().parents[4] / "tools/wireshark/rpcrdma2.lua"
FIELDS = {
    "frame.number": "number", "frame.protocols": "protocols", "iwarp_rdma.opcode": "opcodes",
    "rpcordma.msg_type": "message", "rpcordma.reads_count": "reads", "rpcordma.writes_count": "writes",
    "rpcordma.reply_count": "reply_chunk", "rpcordma.position": "positions", "rpc.msgtyp": "rpc",
    "nfs.procedure_v3": "procedure", "_ws.col.Info": "info", "tcp.stream": "stream", "rpcordma.errcode": "error",
    "rpcrdma2.procedure": "message2", "rpcrdma2.error": "error2", "rpcrdma2.option": "option2",
    "rpcrdma2.read.position": "positions2", "rpcrdma2.write.segments": "writes2", "rpcrdma2.reply.segments": "reply_chunk2",
    "_ws.expert.message": "remarks", "rpc.program": "program", "tcp.srcport": "source",
}
UNKNOWN_PROGRAMS = "-o", "rpc.dissect_unknown_programs:TRUE"  # else only programs that tshark knows are shown as RPC


@functools.cache
def options():
    """The options of every run of tshark. They disable all heuristic dissectors over TCP but MPA's, so that the bytes
    of files are not taken for other protocols."""
    listed = subprocess.run(["tshark", "-G", "heuristic-decodes"], capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    guesses = [line.split("\t")[1] for line in listed.stdout.splitlines() if line.startswith("tcp\t")]
    if "iwarp_mpa" not in guesses:
        raise AssertionError("tshark has no dissector for iWARP")
    others = [text for name in guesses if name not in ("iwarp_mpa", "rpc") for text in ("--disable-protocol", name)]
    return ["-n", "-X", f"lua_script:{VERSION_TWO}", "-o", "tcp.try_heuristic_first:TRUE", "--disable-heuristic", "rpc_tcp", *others]


def _run(path, *arguments):
    done = subprocess.run(["tshark", *options(), "-r", str(path), *arguments],
                          capture_output=True, text=True, errors="replace", timeout=4 * DEADLINE_S, check=False)
    if done.returncode != 0 or "Lua" in done.stderr:
        raise AssertionError(f"tshark: {done.stderr}")
    return done.stdout


class Packet:
    """One packet's fields, as text; see FIELDS."""

    def __init__(self, line):
        self.__dict__.update(zip(FIELDS.values(), line.split("\t")))

    def has(self, protocol):
        return protocol in self.protocols.split(":")

    def opcode(self, value):
        return f"0x{value:02x}" in self.opcodes.split(",")

    def number_of(self, name):
        """The number in a field, or None."""
        text = getattr(self, name).split(",")[0]
        return int(text, 0) if text else None

    def __repr__(self):
        return "\t".join(f"{name}={value}" for name, value in vars(self).items() if value)


def packets(path, *preferences):
    fields = [text for field in FIELDS for text in ("-e", field)]
    return [Packet(line) for line in _run(path, *preferences, "-T", "fields", *fields).splitlines()]


def crc_verdicts(path):
    """How many CRCs tshark finds good, and how many bad."""
    lines = [line for line in _run(path, "-V").splitlines() if "CRC check:" in line]
    good = sum("(Good CRC32)" in line for line in lines)
    return good, len(lines) - good


def checksum_verdicts(path):
    """How many checksums of IP and TCP tshark finds good, and how many not."""
    checks = [text for name in ("ip", "tcp") for text in ("-o", f"{name}.check_checksum:TRUE")]
    found = _run(path, *checks, "-T", "fields", "-e", "ip.checksum.status", "-e", "tcp.checksum.status").split()
    good = found.count("1")
    return good, len(found) - good


REMARKS = ("rpcrdma2.malformed", "rpcrdma2.violation")


class Message:
    """A Send of version two as the dissector shows it."""

    def __init__(self, packet):
        items = list(packet.find("proto[@name='rpcrdma2']").iter("field"))
        names = {item.get("name") for item in packet.iter()}
        self.fields = [(item.get("name").removeprefix("rpcrdma2."), item.get("show")) for item in items
                       if item.get("name").startswith("rpcrdma2.") and item.get("name") not in REMARKS]
        self.remarks = [item.get("show") for item in items if item.get("name") == "_ws.expert.message"]
        self.malformed = not names.isdisjoint({"rpcrdma2.malformed", "_ws.malformed"})
        self.lua_error = "_ws.lua.error" in names
        self.is_nfs = "nfs" in names


def messages(path):
    """The Sends of version two; None for each packet that is not one."""
    packets_of = xml.fromstring(_run(path, "-T", "pdml")).iter("packet")
    return [Message(packet) if packet.find("proto[@name='rpcrdma2']") is not None else None for packet in packets_of]
