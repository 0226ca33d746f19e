#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the figures of docs/performance.md from the results of scripts/bench.

    make.py FOLDER PAGE

FOLDER holds results.jsonl (rpcrdma-bench --json --counters), together.jsonl (rpcrdma-bench --json --placement
together), sweep.jsonl (rpcrdma-bench --json --sweep), vm.txt (the output of bench/vm/ratios.sh, if it was run),
profile-CASE.txt (perf report) and machine.txt. Plots are written there; the blocks of PAGE between
<!-- begin NAME --> and <!-- end NAME --> are replaced."""
import json
import re
import sys
from pathlib import Path

import tables
from chart import line_chart

SWEEP = "rpcrdma-bench --sweep"


def read_rows(path):
    """The lines with results and costs. Skips the lines about the machine and about peers that were left out."""
    return [row for row in map(json.loads, path.read_text().splitlines()) if "case" in row]


def wakeup(path):
    """A sentence with the wake-up times from the first line of `path`; empty if that line has none."""
    first = json.loads(path.read_text().partition("\n")[0])
    if "wakeup_us" not in first:
        return ""
    return f"Waking a thread took {first['wakeup_us']:.1f} µs, nine of ten times at most {first['wakeup_90_us']:.1f} µs."


def octets_of(size):
    return int(size[:-1]) << (20 if size[-1] == "m" else 10)


def size_text(octets):
    return f"{octets >> 20} MiB" if octets >= 1 << 20 else f"{octets >> 10} KiB"


def picked(rows, pattern, key=int, value="ours", peer=None):
    """{x: y} of the rows whose case matches `pattern` and whose peer is `peer` (None: any peer): x is `key`(group of
    the match), y is the column `value`."""
    points = {}
    for row in rows:
        found = re.fullmatch(pattern, row["case"])
        if found and peer in (None, row["peer"]):
            points[key(found[1])] = row[value]
    return points


def plots(rows):
    yield "latency-depth.svg", line_chart(
        "Latency against depth", "calls in flight on one connection", "median, microseconds",
        {"NULL": picked(rows, r"null_latency_qd(\d+)"), "READ of 4 KiB": picked(rows, r"read_4k_latency_qd(\d+)")}, SWEEP)
    for kind in ("read", "write"):
        pattern = rf"{kind}_(\d+[km])_qd8"
        yield f"{kind}-size.svg", line_chart(
            f"{kind.upper()}: throughput against size", "bytes of one call, 8 calls in flight", "MB/s",
            {"ours": picked(rows, pattern, octets_of),
             "raw_tcp, a stream": picked(rows, pattern, octets_of, "peer_value", "raw_tcp"),
             "tirpc_tcp, one at a time": picked(rows, pattern, octets_of, "peer_value", "tirpc_tcp")}, SWEEP, size_text)
    yield "read-connections.svg", line_chart(
        "READ of 1 MiB: throughput against connections", "connections to a server with one thread", "MB/s",
        {"ours": picked(rows, r"read_1m_connections(\d+)")}, SWEEP)
    yield "null-connections.svg", line_chart(
        "NULL: calls a second against connections", "connections, 64 calls in flight over all of them", "calls a second",
        {"ours": picked(rows, r"null_rate_connections(\d+)")}, SWEEP)


def replace_block(page, name, content):
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    head, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"no block {name}")
    return f"{head}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def main():
    folder, page = Path(sys.argv[1]), Path(sys.argv[2])
    for name, chart in plots(read_rows(folder / "sweep.jsonl")):
        (folder / name).write_text(chart)
    rows = read_rows(folder / "results.jsonl")
    reports = {path.stem.removeprefix("profile-"): path.read_text() for path in sorted(folder.glob("profile-*.txt"))}
    content = page.read_text()
    machine = f"{(folder / 'machine.txt').read_text().strip()}\n\n{wakeup(folder / 'results.jsonl')}"
    content = replace_block(content, "machine", machine.strip())
    content = replace_block(content, "ratios", tables.ratios([row for row in rows if "ratio" in row]))
    together = tables.ratios(read_rows(folder / "together.jsonl"), tables.GATES_TOGETHER)
    content = replace_block(content, "together", together)
    if (folder / "vm.txt").exists():
        content = replace_block(content, "vm", tables.virtual_machine((folder / "vm.txt").read_text()))
    costs = [row for row in rows if "side" in row]
    content = replace_block(content, "processor", tables.processor(costs))
    content = replace_block(content, "costs", tables.costs(costs))
    if reports:
        content = replace_block(content, "profile", tables.profile(reports))
    page.write_text(content)


if __name__ == "__main__":
    main()
