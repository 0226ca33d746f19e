# SPDX-License-Identifier: BSD-3-Clause
"""Which fabric the programs run on, and at which addresses. Another than iwarp needs a device: see tests/interop."""
import os
import unittest

FABRIC = os.environ.get("RPCRDMA_E2E_FABRIC", "iwarp")
# Which one peers driven by hand speak: iWARP to a server whose verbs device is siw.
PEER = os.environ.get("RPCRDMA_E2E_PEER", FABRIC)
ADDRESS = os.environ.get("RPCRDMA_E2E_ADDRESS", "127.0.0.1")
# Where the server sees the client come from.
CLIENT = os.environ.get("RPCRDMA_E2E_CLIENT", ADDRESS)
ADDRESS6 = os.environ.get("RPCRDMA_E2E_ADDRESS6", "::1")


def iwarp_only(why):
    """Of a test that has no other fabric for its subject."""
    return unittest.skipUnless(FABRIC == "iwarp", f"iwarp only: {why}")


def verbs_only(why):
    return unittest.skipUnless(FABRIC == "verbs", f"verbs only: {why}")


def iwarp_peers_only(why):
    return unittest.skipUnless(PEER == "iwarp", f"peers that speak iWARP only: {why}")
