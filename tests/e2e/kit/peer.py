# SPDX-License-Identifier: BSD-3-Clause
"""The hand-driven peer of the fabric that the programs run on."""
from kit.fabric import PEER

if PEER == "iwarp":
    from kit.iwarp import Peer
else:
    from kit.verbs import Peer

__all__ = ["Peer"]
