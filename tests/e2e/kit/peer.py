# SPDX-License-Identifier: BSD-3-Clause
"""The hand-driven peer for the fabric in kit.fabric.PEER."""
from kit.fabric import PEER

if PEER == "iwarp":
    from kit.iwarp import Peer
else:
    from kit.verbs import Peer

__all__ = ["Peer"]
