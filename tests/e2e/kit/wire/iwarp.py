# SPDX-License-Identifier: BSD-3-Clause
"""A hand-driven iWARP peer over a raw socket: it can break every rule of MPA, DDP and RDMAP. The constants
and layouts are those of RFC 5044 (MPA), 6581 (enhanced set-up), 5041 (DDP) and 5040 (RDMAP)."""
import socket
import struct
import unittest

from kit.fabric import PEER
from kit.waiting import DEADLINE_S

REQUEST_KEY, REPLY_KEY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
CRC_BIT, REJECT_BIT, ENHANCED_BIT = 0x40, 0x20, 0x10
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE, SEND_SE, SEND_SE_INVALIDATE, TERMINATE = range(8)
SEND_QUEUE, READ_QUEUE, TERMINATE_QUEUE = 0, 1, 2


def _crc_table():
    table = []
    for octet in range(256):
        for _ in range(8):
            octet = (octet >> 1) ^ (0x82F63B78 if octet & 1 else 0)
        table.append(octet)
    return table


_TABLE = _crc_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for octet in data:
        value = (value >> 8) ^ _TABLE[(value ^ octet) & 0xFF]
    return value ^ 0xFFFFFFFF


def rfc8797(invalidation=True, send_size=4096, receive_size=4096):
    return struct.pack(">IBBBB", 0xF6AB0E18, 1, int(invalidation), send_size // 1024 - 1, receive_size // 1024 - 1)


def mpa_request(private=b"", revision=2, flags=ENHANCED_BIT, inbound=16, outbound=16, key=REQUEST_KEY, length=None):
    if flags & ENHANCED_BIT:
        private = struct.pack(">HH", inbound & 0x3FFF, outbound & 0x3FFF) + private
    length = len(private) if length is None else length
    return key + struct.pack(">BBH", flags, revision, length) + private


def fpdu(ulpdu, crc=False, spoil=False):
    framed = struct.pack(">H", len(ulpdu)) + ulpdu
    framed += bytes(-len(framed) % 4)
    value = crc32c(framed) if crc else 0
    return framed + struct.pack("<I", value ^ (0x5A if spoil else 0))


def untagged(opcode, queue, msn, payload, offset=0, last=True, invalidate=0, ddp_version=1, rdmap_version=1):
    control = (0x40 if last else 0) | ddp_version
    return struct.pack(">BBIIII", control, rdmap_version << 6 | opcode, invalidate, queue, msn, offset) + payload


def tagged(opcode, stag, offset, payload, last=True, ddp_version=1, rdmap_version=1):
    control = 0x80 | (0x40 if last else 0) | ddp_version
    return struct.pack(">BBIQ", control, rdmap_version << 6 | opcode, stag, offset) + payload


def read_request(sink_stag, sink_offset, size, source_stag, source_offset):
    return struct.pack(">IQIIQ", sink_stag, sink_offset, size, source_stag, source_offset)


class ConnectionEnded(AssertionError, ConnectionError):
    """The connection ended before the expected message was received or sent."""


class Message:
    """One DDP segment as received."""

    def __init__(self, ulpdu):
        self.ulpdu = ulpdu
        self.is_tagged, self.last, self.opcode = bool(ulpdu[0] & 0x80), bool(ulpdu[0] & 0x40), ulpdu[1] & 0x0F
        if self.is_tagged:
            self.stag, self.offset = struct.unpack_from(">IQ", ulpdu, 2)
            self.payload = ulpdu[14:]
        else:
            self.stag, self.queue, self.msn, self.offset = struct.unpack_from(">IIII", ulpdu, 2)
            self.payload = ulpdu[18:]

    def error(self):
        """Decodes a Terminate: (layer, type, code), the three header bits, and the bytes after them."""
        layer_type, code, bits = struct.unpack_from(">BBH", self.payload)
        return (layer_type >> 4, layer_type & 15, code), bits >> 13, self.payload[4:]


class Peer:
    """A connection to HOST:PORT. Use as a context manager."""

    def __init__(self, address, source=None):
        if PEER != "iwarp":
            raise unittest.SkipTest("drives iWARP by hand")
        host, port = address.rsplit(":", 1)
        self.crc = False
        self.msn = {SEND_QUEUE: 1, READ_QUEUE: 1}
        self.socket = socket.create_connection((host.strip("[]"), int(port)), DEADLINE_S,
                                               (source, 0) if source else None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def raw(self, octets):
        self.socket.sendall(octets)

    def receive_exactly(self, count):
        """Returns `count` bytes, or fewer at the end of the stream."""
        data = bytearray()
        while len(data) < count:
            try:
                chunk = self.socket.recv(count - len(data))
            except ConnectionError:
                break
            if not chunk:
                break
            data += chunk
        return bytes(data)

    def rest(self):
        """Returns all bytes up to the end of the stream; fails if the stream does not end."""
        return self.receive_exactly(1 << 30)

    def handshake(self, private=None, crc=False, **fields):
        """Sends the MPA Request; returns the (flags, revision, private data) of the MPA Reply."""
        flags = fields.pop("flags", ENHANCED_BIT) | (CRC_BIT if crc else 0)
        self.raw(mpa_request(rfc8797() if private is None else private, flags=flags, **fields))
        return self.reply()

    def reply(self):
        head = self.receive_exactly(20)
        if len(head) < 20 or head[:16] != REPLY_KEY:
            raise AssertionError(f"expected an MPA Reply, got {head.hex()}")
        flags, revision, length = struct.unpack_from(">BBH", head, 16)
        self.crc = bool(flags & CRC_BIT)
        return flags, revision, self.receive_exactly(length)

    def fpdu(self, ulpdu, spoil=False):
        self.raw(fpdu(ulpdu, self.crc, spoil))

    def send(self, payload, largest=60000, invalidate=None):
        """Sends one RDMAP Send in as many segments as it needs."""
        opcode = SEND if invalidate is None else SEND_INVALIDATE
        msn = self.next_msn(SEND_QUEUE)
        for offset in range(0, max(len(payload), 1), largest):
            part = payload[offset:offset + largest]
            last = offset + largest >= len(payload)
            self.fpdu(untagged(opcode, SEND_QUEUE, msn, part, offset, last, invalidate or 0))

    def write(self, octets, handle, offset):
        self.fpdu(tagged(WRITE, handle, offset, octets))

    def read(self, size, source_stag, source_offset):
        self.fpdu(untagged(READ_REQUEST, READ_QUEUE, self.next_msn(READ_QUEUE),
                           read_request(0x1111, 0, size, source_stag, source_offset)))

    def next_msn(self, queue):
        self.msn[queue] += 1
        return self.msn[queue] - 1

    def receive(self):
        """Returns the next segment, or None at the end of the stream. With CRCs on, its CRC must be correct."""
        head = self.receive_exactly(2)
        if len(head) < 2:
            return None
        length = struct.unpack(">H", head)[0]
        body = self.receive_exactly(length + -(2 + length) % 4)
        tail = self.receive_exactly(4)
        if len(tail) < 4:
            return None
        if self.crc and struct.unpack("<I", tail)[0] != crc32c(head + body):
            raise AssertionError("the server sent a bad CRC")
        return Message(body[:length])

    def receive_opcode(self, *opcodes):
        """Returns the next segment, whose opcode must be one of `opcodes`."""
        message = self.receive()
        if message is None:
            raise ConnectionEnded("the connection ended")
        if message.opcode not in opcodes:
            raise AssertionError(f"unexpected opcode {message.opcode}: {message.ulpdu.hex()}")
        return message

    def end(self):
        """Expects the end of the stream, perhaps after a Terminate."""
        message = self.receive()
        if message is not None and (message.opcode != TERMINATE or self.rest()):
            raise AssertionError(f"expected the end of the stream, got {message.ulpdu.hex()}")

    def terminate(self):
        """Expects a Terminate directly before the end of the stream; returns its (error, bits, headers)."""
        message = self.receive_opcode(TERMINATE)
        if (message.queue, message.msn, message.offset) != (TERMINATE_QUEUE, 1, 0):
            raise AssertionError(f"Terminate on queue {message.queue} msn {message.msn}")
        if self.rest():
            raise AssertionError("something follows the Terminate")
        return message.error()
