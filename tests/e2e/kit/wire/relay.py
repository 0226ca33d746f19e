# SPDX-License-Identifier: BSD-3-Clause
"""A relay between client and server that writes the traffic into a capture, one MPA frame in each packet."""
import socket
import struct
import threading

from kit.listening import Listening
from kit.wire.pcap import CLIENT, SERVER, Capture, Stream


class Frames:
    """Cuts one direction of a stream into MPA frames: the set-up frame, then FPDUs."""

    def __init__(self):
        self.waiting = bytearray()
        self.set_up = False

    def _length(self):
        if not self.set_up:
            return 20 + struct.unpack_from(">H", self.waiting, 18)[0] if len(self.waiting) >= 20 else None
        if len(self.waiting) < 2:
            return None
        length = 2 + struct.unpack_from(">H", self.waiting)[0]
        return length + -length % 4 + 4

    def feed(self, octets):
        self.waiting += octets
        while (length := self._length()) is not None and len(self.waiting) >= length:
            yield bytes(self.waiting[:length])
            del self.waiting[:length]
            self.set_up = True


class Relay(Listening):
    """Listens on a free port and forwards to HOST:PORT until closed. Use as a context manager."""

    def __init__(self, target, capture_path):
        host, port = target.rsplit(":", 1)
        self.target = (host.strip("[]"), int(port))
        self.capture = Capture(capture_path)
        self.lock = threading.Lock()
        self.resets = []  # the sides (CLIENT, SERVER) that reset a connection
        super().__init__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.capture.close()

    def accepted(self, connection, address):
        server = socket.create_connection(self.target)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            stream = Stream(self.capture, address[1])
        self.run(self._forward, stream, CLIENT, connection, server)
        self.run(self._forward, stream, SERVER, server, connection)

    def _forward(self, stream, sender, source, sink):
        frames = Frames()
        try:
            while octets := source.recv(1 << 18):
                # Write before forwarding, so that no reply precedes its call in the capture.
                with self.lock:
                    for frame in frames.feed(octets):
                        stream.write(sender, frame)
                sink.sendall(octets)
        except ConnectionResetError:
            with self.lock:
                self.resets.append(sender)
        except OSError:
            pass
        with self.lock:
            stream.write(sender, bytes(frames.waiting))
            stream.close(sender)
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
