# SPDX-License-Identifier: BSD-3-Clause
"""Converts the output of rpcrdma-bench and perf to tables in Markdown."""
import re

ON_NAMES = ("mkdir", "stat", "chmod", "rename", "rmdir")
# The bound that a ratio must keep and, in brackets, the goal.
GATES = {
    ("null_rtt", "raw_tcp"): "<= 1.15", ("null_rtt", "raw_asio"): "<= 1.05", ("null_rtt", "tirpc_tcp"): "<= 1.05 [1.0]",
    ("null_rate_qd32", "tirpc_tcp"): ">= 6 [8]",
    ("read_1m_qd1", "raw_tcp"): ">= 0.90", ("read_1m_qd1", "tirpc_tcp"): ">= 1.0 [1.2]",
    **{(f"{way}_1m_qd8", "raw_tcp"): ">= 0.95 [1.0]" for way in ("read", "write")},
    **{(f"{way}_1m_qd8", "tirpc_tcp"): ">= 0.9" for way in ("read", "write")},
    ("write_1m_qd1", "raw_tcp"): ">= 0.85 [1.0]", ("setup", "raw_tcp"): ">= 0.5",
    ("read_4k_qd32", "raw_tcp"): ">= 0.9", ("read_4k_qd32", "tirpc_tcp"): ">= 5", ("getattr", "null_rtt"): "<= 1.25",
    ("nfs_read_1m_qd8", "read_1m_qd8"): ">= 0.85", ("nfs_write_1m_qd8", "write_1m_qd8"): ">= 0.85",
    ("hello", "null_rtt"): "<= 1.10", ("tirpc_door_null", "tirpc_tcp"): "<= 1.5",
    ("tirpc_door_read_1m", "tirpc_tcp"): ">= 1.0", ("tirpc_door_write_1m", "tirpc_tcp"): ">= 1.0",
    ("tirpc_door_write_1m_stable", "tirpc_tcp"): ">= 1.0",
    ("null_rtt_1000_connections", "null_rtt"): "<= 1.10", ("connections_10000", "null_rtt"): "<= 1.10",
    ("null_rtt", "raw_tcp_spin"): "<= 1.6 [1.3]",
    ("getattr_posix", "null_rtt"): "<= 1.3", ("lookup_posix", "null_rtt"): "<= 1.3",
    ("libnfs_getattr", "ganesha"): "<= 1.0 [0.67]", ("libnfs_read_4k_qd32", "ganesha"): ">= 3 [5]",
    **{(f"libnfs_{name}", "ganesha"): "<= 0.77 [0.5]" for name in ON_NAMES},
    **{(f"libnfs_{name}_qd32", "ganesha"): ">= 1.3 [2]" for name in ON_NAMES},
    **{(f"libnfs_{way}_1m_{depth}", "ganesha"): ">= 1.2" for way in ("read", "write") for depth in ("qd1", "qd8")},
    ("read_1m_qd8_crc", "read_1m_qd8"): ">= 0.75",
    **{(f"scraped_{depth}", f"nfs_null_rate_{depth}"): ">= 0.99" for depth in ("qd1", "qd32")},
    **{(f"{side}_captured_{depth}", f"null_rate_{depth}"): ">= 0.85" for side in ("server", "client") for depth in ("qd1", "qd32")},
}
# The bounds if both sides run on one processor.
GATES_TOGETHER = {**GATES, ("null_rtt", "raw_tcp"): "<= 1.30"}
LAYERS = [  # a symbol belongs to the first layer whose pattern it matches
    ("copies between user and kernel", r"copy_(to|from)_iter|copy_user|rep_movs|_copy_(to|from)_user|clear_page"),
    ("kernel: TCP, IP, loopback, sockets", r"\[k\] .*(tcp|ip_|inet|skb|sock|net_|dev_|loopback|softirq|backlog|qdisc)"),
    ("kernel: waiting and scheduling", r"\[k\] .*(epoll|sched|wake|schedule|idle|timer|futex|switch|poll)"),
    ("kernel: the rest", r"\[k\]"),
    ("this library", r"rpcrdma::"),
    ("Boost.Asio", r"boost::asio|boost::system"),
    ("libtirpc", r"libtirpc|xdr_"),
    ("the C and C++ libraries", r"libc|libstdc|vdso|malloc|memcpy"),
]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def ratios(rows, gates=None):
    gates = GATES if gates is None else gates
    return table(["case", "unit", "ours", "peer", "its value", "ratio", "wanted", "spread of ours"],
                 [[f"`{row['case']}`", row["unit"], f"{row['ours']:,.1f}", f"`{row['peer']}`",
                   f"{row['peer_value']:,.1f}", f"{row['ratio']:.2f}", gates.get((row["case"], row["peer"]), ""),
                   f"{100 * row['spread']:.0f} %"] for row in rows])


VM_CASES = {"read_1m": "READ 1 MiB, 8 at a time, MB/s", "write_1m": "WRITE 1 MiB, 8 at a time, MB/s",
            "random_4k": "READ 4 KiB at random, 32 at a time, 1/s", "null_rtt": "NULL, us"}
VM_GATES = {"read_1m": ">= 0.90 [1.0]", "write_1m": ">= 0.90 [1.0]", "random_4k": ">= 0.80 [0.95]"}


def virtual_machine(output):
    """The two tables of the output of bench/vm/ratios.sh: a row of five figures is a comparison with the kernel, and
    a row of three with perftest."""
    kernel, perftest = [], []
    for fields in map(str.split, output.splitlines()):
        if not fields or fields[0] not in VM_CASES:
            continue
        case, *figures = fields
        figures = [f"{float(one):,.2f}" if "." in one and len(one.split(".")[1]) == 2 else f"{float(one):,.1f}"
                   for one in figures]
        row = [VM_CASES[case]] + figures
        (kernel if len(figures) == 5 else perftest).append(row + ([VM_GATES[case]] if len(figures) == 5 else []))
    return "\n\n".join([
        table(["", "kernel's client on ours", "on the kernel's server", "ratio",
               "our client on the kernel's server", "ratio", "wanted of both"], kernel),
        table(["", "both ours, a file in memory", "perftest", "ratio"], perftest)])


PEERS = ("raw_tcp", "raw_tcp_spin", "raw_asio", "tirpc_tcp", "local", "local_durable", "ganesha")


def figure(value, digits):
    return "" if value is None else f"{value:,.{digits}f}"


def processor(rows):
    """A table of the processor time of client and server, for this library and for each of PEERS."""
    found = {}  # {(case, who): {side: row}}
    for row in rows:
        found.setdefault((row["case"], row["who"]), {}).setdefault(row["side"], row)

    def total(sides, key):
        values = [row[key] for row in sides.values()]
        return None if None in values else sum(values)

    lines = []
    for (case, who), sides in found.items():
        own = found.get((case, "ours"))
        if who not in PEERS or own is None:
            continue
        cells = [f"`{case}`"]
        for each in (own, sides):
            cells += [figure(each[side]["cpu_us"] if side in each else None, 1) for side in ("client", "server")]
            cells.append(figure(total(each, "cpu_s_per_gb"), 2))
        cells.insert(4, f"`{who}`")
        lines.append(cells + [f"{total(own, 'cpu_us') / total(sides, 'cpu_us'):.2f}"])
    return table(["case", "our client, µs", "our server, µs", "s/GB", "peer", "its client, µs", "its server, µs", "s/GB",
                  "ratio of both sides"], lines)


def costs(rows):
    keys = ["kernel_calls", "allocations", "copied", "system_calls", "sends", "receives", "empty_receives", "waits",
            "yields", "work_requests", "completions", "batches"]
    head = ["case", "who", "side"] + [key.replace("_", " ") for key in keys]
    seen, lines = set(), []
    for row in rows:
        one = (row["case"], row["who"], row["side"])
        if one in seen or row["who"] not in ("ours", *PEERS):
            continue
        seen.add(one)
        lines.append([f"`{row['case']}`", row["who"], row["side"]] +
                     [figure(row[key], 0 if key == "copied" else 2) for key in keys])
    return table(head, lines)


def shares(report):
    """{layer: percent} and [(percent, symbol)] of the output of perf report --stdio --sort dso,sym."""
    layers, symbols = {}, []
    for line in report.splitlines():
        found = re.match(r"\s*([0-9.]+)%\s+(.*)", line)
        if not found:
            continue
        percent, what = float(found[1]), found[2]
        layer = next((name for name, pattern in LAYERS if re.search(pattern, what)), "the rest")
        layers[layer] = layers.get(layer, 0) + percent
        symbols.append((percent, re.sub(r"^\S+\s+\[.\]\s+", "", what).strip()))
    return layers, symbols


def profile(reports):
    """A table of the shares of the layers, and the most expensive functions. `reports`: {case: output of perf}."""
    found = {case: shares(report) for case, report in reports.items()}
    names = [name for name, _ in LAYERS] + ["the rest"]
    rows = [[name] + [f"{found[case][0].get(name, 0):.0f} %" for case in found] for name in names
            if any(found[case][0].get(name, 0) >= 0.5 for case in found)]
    out = [table(["where"] + [f"`{case}`" for case in found], rows)]
    for case, (_, symbols) in found.items():
        top = ", ".join(f"`{symbol[:60]}` {percent:.1f} %" for percent, symbol in symbols[:8])
        out.append(f"The most expensive functions of `{case}`: {top}.")
    return "\n\n".join(out)
