# SPDX-License-Identifier: BSD-3-Clause
"""Writes TCP streams as packets in the pcap format, and reads the IP packets of such files and of tcpdump's."""
import struct
import time

CLIENT, SERVER = 0, 1  # the sender
SERVER_PORT = 20049  # the port of NFS over RDMA, whatever the real one was
SYN, ACK, PUSH, FIN = 0x02, 0x10, 0x08, 0x01
LARGEST = 65000  # bytes of one segment


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Stream:
    """One connection of the capture. write() takes the bytes of one side, in order."""

    def __init__(self, capture, client_port):
        self.capture = capture
        self.ports = (client_port, SERVER_PORT)
        self.sequence = [1000, 5000]
        self._packet(CLIENT, SYN)
        self._packet(SERVER, SYN | ACK)
        self._packet(CLIENT, ACK)

    def write(self, sender, octets):
        for start in range(0, len(octets), LARGEST):
            self._packet(sender, PUSH | ACK, octets[start:start + LARGEST])

    def close(self, sender):
        self._packet(sender, FIN | ACK)

    def _packet(self, sender, flags, octets=b""):
        acknowledged = self.sequence[1 - sender] if flags & ACK else 0
        addresses = b"\x7f\0\0\1\x7f\0\0\1"
        tcp = struct.pack(">HHIIBBHHH", self.ports[sender], self.ports[1 - sender], self.sequence[sender], acknowledged,
                          0x50, flags, 65535, 0, 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(octets), 0, 0x4000, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        self.capture.packet(ip + tcp + octets)
        self.sequence[sender] += len(octets) + bool(flags & (SYN | FIN))


class Capture:
    """A pcap file of raw IP packets."""

    def __init__(self, path):
        self.file = open(path, "wb")  # pylint: disable=consider-using-with
        self.file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))

    def packet(self, octets):
        now = time.time_ns() // 1000
        self.file.write(struct.pack("<IIII", now // 1000000, now % 1000000, len(octets), len(octets)) + octets)

    def close(self):
        self.file.close()


def read(path):
    """The IP packets in a file that Capture or tcpdump wrote, without padding."""
    with open(path, "rb") as file:
        magic, *_, link = struct.unpack("<IHHiIII", file.read(24))
        skipped = {1: 14, 101: 0}.get(link)  # Ethernet, raw IP
        if magic != 0xA1B2C3D4 or skipped is None:
            raise AssertionError(f"capture of link type {link}")
        while head := file.read(16):
            packet = file.read(struct.unpack_from("<I", head, 8)[0])[skipped:]
            yield packet[:struct.unpack_from(">H", packet, 2)[0] or len(packet)]
