# SPDX-License-Identifier: BSD-3-Clause
"""Waits on conditions, with deadlines that only a failure reaches; and scales the inputs of the tests."""
import os
import time

SCALE = os.environ.get("RPCRDMA_E2E_SCALE", "small")  # or "full"; or "tiny", for an emulated machine
SLOWEST = 10  # the tests pass on a machine this many times slower than an ordinary one
DEADLINE_S = 60 * SLOWEST


def scaled(full, small, tiny=None):
    return {"full": full, "tiny": max(small // 4, 1) if tiny is None else tiny}.get(SCALE, small)


def some_of(values):
    """All values, or every seventh if the inputs are tiny."""
    return values[::7] if SCALE == "tiny" else values


def wait_until(condition, what, deadline_s=DEADLINE_S, interval_s=0.002):
    """Returns the first true value of condition(); fails after the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(interval_s)
