# SPDX-License-Identifier: BSD-3-Clause
"""The fabric, the protocol version and the addresses that the programs use. A fabric other than iwarp needs a device:
see tests/interop."""
import os
import unittest

FABRIC = os.environ.get("RPCRDMA_E2E_FABRIC", "iwarp")
# Version of RPC-over-RDMA on both sides; if empty, the default of the programs.
VERSION = os.environ.get("RPCRDMA_E2E_VERSION", "")
OPTIONS = ("--fabric", FABRIC, *(("--rdma-version", VERSION) if VERSION else ()))  # for every program
# The fabric of peers whose messages the tests send one by one. With siw, it can be iwarp while the server uses verbs.
PEER = os.environ.get("RPCRDMA_E2E_PEER", FABRIC)
ADDRESS = os.environ.get("RPCRDMA_E2E_ADDRESS", "127.0.0.1")
# The client's address as the server sees it.
CLIENT = os.environ.get("RPCRDMA_E2E_CLIENT", ADDRESS)
ADDRESS6 = os.environ.get("RPCRDMA_E2E_ADDRESS6", "::1")


def iwarp_only(why):
    """For a test whose subject exists on iwarp only."""
    return unittest.skipUnless(FABRIC == "iwarp", f"iwarp only: {why}")


def verbs_only(why):
    return unittest.skipUnless(FABRIC == "verbs", f"verbs only: {why}")


def iwarp_peers_only(why):
    return unittest.skipUnless(PEER == "iwarp", f"peers that speak iWARP only: {why}")
