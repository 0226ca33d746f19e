# SPDX-License-Identifier: BSD-3-Clause
"""Waiting on conditions, with deadlines that only a failure reaches; and the size of the tests' inputs."""
import os
import time

SCALE = os.environ.get("RPCRDMA_E2E_SCALE", "small")  # or full; or tiny, for what is many times slower
SLOWEST = 10  # the tests pass on a machine that is so many times slower than a common one
DEADLINE_S = 60 * SLOWEST


def scaled(full, small, tiny=None):
    return {"full": full, "tiny": max(small // 4, 1) if tiny is None else tiny}.get(SCALE, small)


def some_of(values):
    """All of them; every seventh of tiny inputs."""
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
