# SPDX-License-Identifier: BSD-3-Clause
"""Compares the histograms of tools/bpftrace/rpcrdma-calls.bt with the counters of the server."""
import re

from kit.metrics import samples, sum_of

CLIENT = "client 1: ", "client 2: ", "client 3: "
SERVER = "server 1: ", "server 3: ", "server 4: ", "server 5: "
CHUNKS = "server 2: "
CHUNK_FORMS = "read_chunk", "long"


def totals(path):
    """The number of values in each histogram, by its name. Nothing else may have been printed."""
    found, name = {}, None
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"@us\[(.+)\]: ?", line):
            name = match.group(1)
            found[name] = 0
        elif match := re.fullmatch(r"[\[(].+[\])] +(\d+) \|.*\|", line):
            found[name] += int(match.group(1))
        elif line and not line.startswith(("Attaching", "Running")):
            raise AssertionError(f"{path.name}: {line!r}")
    return found


def counted(out, name):
    """(calls, chunks that the server has read) between the two readings of the server's counters."""
    before, after = (samples((out / f"{when}-{name}.metrics").read_text()) for when in ("before", "after"))

    def growth(metric, **labels):
        return sum_of(after, metric, **labels) - sum_of(before, metric, **labels)

    return growth("rpcrdma_calls_total"), sum(growth("rpcrdma_call_forms_total", form=form) for form in CHUNK_FORMS)


def check(case, out, name, calls_in):
    """The script printed the histograms in `calls_in`, which count each call once, and on a server one that counts each
    chunk once. It printed no other histograms."""
    calls, chunks = counted(out, name)
    case.assertGreater(calls, 0)
    expected = {text: calls for text in calls_in}
    if calls_in == SERVER:
        case.assertGreater(chunks, 0)
        expected[CHUNKS] = chunks
    found = totals(out / f"{name}.maps")
    case.assertEqual({text[:10]: count for text, count in found.items()}, expected, name)
    return calls
