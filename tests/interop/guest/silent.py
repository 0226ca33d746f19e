# SPDX-License-Identifier: BSD-3-Clause
"""A server that says nothing: silent.py ADDRESS PORT accepts|drops, until it is killed; prints a line when it is ready.

It accepts connections and no more than that, or its kernel drops what wants to connect."""
import signal
import socket
import sys

address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
listener = socket.create_server((address, port), backlog=8 if how == "accepts" else 0)
fillers = []
if how == "drops":
    for _ in range(3):  # more than fit
        fillers.append(socket.socket())
        fillers[-1].setblocking(False)
        fillers[-1].connect_ex((address, port))
print("ready", flush=True)
signal.pause()
