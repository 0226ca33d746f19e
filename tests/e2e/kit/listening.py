# SPDX-License-Identifier: BSD-3-Clause
"""A TCP listener on a thread of its own."""
import socket
import threading


class Listening:
    """Listens on a free port of 127.0.0.1 and passes each connection to accepted(), until closed. Use as a context
    manager."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = []
        self.run(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join()

    def run(self, function, *arguments):
        """Calls the function on a new thread."""
        self.threads.append(threading.Thread(target=function, args=arguments))
        self.threads[-1].start()

    def accepted(self, connection, address):
        """Takes over a connection from `address`. Called on the listener's thread."""
        raise NotImplementedError

    def _accept(self):
        while True:
            try:
                connection, address = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted(connection, address)
