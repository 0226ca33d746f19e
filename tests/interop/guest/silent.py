# SPDX-License-Identifier: BSD-3-Clause
"""A silent server: silent.py ADDRESS PORT accepts|drops, until it is killed; prints a line when it is ready.

It accepts connections and never answers, or its kernel drops connection requests."""
import signal
import socket
import sys

address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
listener = socket.create_server((address, port), backlog=8 if how == "accepts" else 0)
fillers = []
if how == "drops":
    for _ in range(3):  # more than the backlog holds
        fillers.append(socket.socket())
        fillers[-1].setblocking(False)
        fillers[-1].connect_ex((address, port))
print("ready", flush=True)
signal.pause()
