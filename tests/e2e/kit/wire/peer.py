# SPDX-License-Identifier: BSD-3-Clause
"""The peer class for the fabric kit.fabric.PEER: tests send and receive its messages one by one."""
from kit.fabric import PEER

if PEER == "iwarp":
    from kit.wire.iwarp import Peer
else:
    from kit.wire.verbs import Peer

__all__ = ["Peer"]
