# SPDX-License-Identifier: BSD-3-Clause
"""The commands that tests run on a host of kit/ipnet.py: python3 ipnet_probes.py COMMAND ARGUMENTS."""
import hashlib
import itertools
import os
import select
import socket
import struct
import sys
import time

PATIENCE_S = 600
CHUNK = 1 << 20


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo(address, sizes, again_after_s=10):
    """Sends echo requests, one for each size of data. Each must be answered with the same data; a request that is not
    answered in time is sent again."""
    six = ":" in address
    request, answer = (128, 129) if six else (8, 0)
    raw = (socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) if six
           else socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    noise = os.urandom(1 << 16)
    for number, size in enumerate(sizes):
        data = noise[:size]
        header = struct.pack(">BBHHH", request, 0, 0, os.getpid() & 0xFFFF, number & 0xFFFF)
        if not six:
            header = struct.pack(">BBHHH", request, 0, checksum(header + data), os.getpid() & 0xFFFF, number & 0xFFFF)
        expected = struct.pack(">HH", os.getpid() & 0xFFFF, number & 0xFFFF) + data
        end = time.monotonic() + PATIENCE_S
        raw.sendto(header + data, (address, 0))
        while not answered(raw, answer, expected, again_after_s):
            if time.monotonic() > end:
                sys.exit(f"no answer to a request with {size} bytes")
            raw.sendto(header + data, (address, 0))
    print(len(sizes))


def answered(raw, kind, expected, seconds):
    """Whether an ICMP message of this kind with these contents arrives within `seconds`."""
    end = time.monotonic() + seconds
    while select.select([raw], [], [], max(end - time.monotonic(), 0))[0]:
        packet = raw.recv(1 << 17)
        packet = packet if raw.family == socket.AF_INET6 else packet[20:]
        if packet[0] == kind and packet[4:] == expected:
            return True
    return False


def echo_at(address, period, count):
    """Sends echo requests at multiples of `period` seconds: hosts that share a clock send at the same time. A request
    without an answer is sent again."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for number in range(int(count)):
        time.sleep(float(period) - time.time() % float(period))
        expected = struct.pack(">HH", os.getpid() & 0xFFFF, number)
        request = struct.pack(">BBH", 8, 0, checksum(b"\x08\0" + expected)) + expected
        end = time.monotonic() + PATIENCE_S
        raw.sendto(request, (address, 0))
        while not answered(raw, 0, expected, 5):
            if time.monotonic() > end:
                sys.exit("no answer")
            raw.sendto(request, (address, 0))


def sizes_of(text):
    """Parses a list of SIZE or FIRST-LAST/STEP, separated by commas."""
    out = []
    for part in text.split(","):
        if "-" in part:
            span, _, step = part.partition("/")
            first, last = map(int, span.split("-"))
            out += range(first, last + 1, int(step or 1))
        else:
            out.append(int(part))
    return out


def receive(address, port):
    """Accepts one connection. Sends the hash of the received bytes back; prints their number and the hash."""
    with socket.create_server((address, int(port)), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
        print("ready", flush=True)
        connection = server.accept()[0]
    digest, count = hashlib.sha256(), 0
    while data := connection.recv(CHUNK):
        digest.update(data)
        count += len(data)
    connection.sendall(digest.digest())
    print(count, digest.hexdigest(), flush=True)


def send(address, port, count, seconds="0"):
    """Sends `count` bytes, which takes about `seconds` or longer; checks that the receiver returns the hash of them."""
    connection = socket.create_connection((address, int(port)), timeout=PATIENCE_S)
    digest, left = hashlib.sha256(), int(count)
    pause = float(seconds) / max(left / CHUNK, 1)
    noise = os.urandom(CHUNK)
    for number in itertools.count():
        if left == 0:
            break
        data = struct.pack(">Q", number) + noise[: min(CHUNK, left) - 8]
        data = data[:left]
        digest.update(data)
        connection.sendall(data)
        left -= len(data)
        time.sleep(pause)
    connection.shutdown(socket.SHUT_WR)
    answer = b""
    while len(answer) < 32:
        part = connection.recv(32)
        if not part:
            sys.exit("the connection ended")
        answer += part
    if answer != digest.digest():
        sys.exit("the bytes differ")
    print(count)


def connects(address, port):
    """Prints "open" if a TCP connection can be made within two seconds, else "closed". The firewall drops packets to
    closed ports."""
    try:
        socket.create_connection((address, int(port)), timeout=2).close()
        print("open")
    except OSError:
        print("closed")


def datagrams(address, size, count):
    """Returns the contents of `count` datagrams, and a UDP socket."""
    number = int(count)
    data = b"".join(struct.pack(">Q", i) * (int(size) // 8) for i in range(number))
    return data, socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)


def send_datagrams(address, port, size, count):
    """Sends `count` datagrams as one buffer, which the kernel or the device cuts (UDP_SEGMENT, option 103)."""
    data, sender = datagrams(address, size, count)
    sender.setsockopt(socket.IPPROTO_UDP, 103, int(size))
    sender.sendto(data, (address, int(port)))


def flood(address, port, count):
    """Sends `count` small datagrams and ignores errors."""
    sender = datagrams(address, 8, 0)[1]
    for _ in range(int(count)):
        try:
            sender.sendto(bytes(100), (address, int(port)))
        except OSError:  # reported for an earlier datagram
            pass


def take_datagrams(address, port, size, count):
    data, receiver = datagrams(address, size, count)
    receiver.settimeout(PATIENCE_S)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    receiver.bind((address, int(port)))
    print("ready", flush=True)
    if b"".join(receiver.recv(1 << 16) for _ in range(int(count))) != data:
        sys.exit("the bytes differ")


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo(sys.argv[2], sizes_of(sys.argv[3]), *map(float, sys.argv[4:]))
    else:
        {"echo_at": echo_at, "receive": receive, "send": send, "connects": connects, "send_datagrams": send_datagrams, "flood": flood,
         "take_datagrams": take_datagrams}[sys.argv[1]](*sys.argv[2:])
