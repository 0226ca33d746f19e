#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the first inputs of the fuzz targets to corpus/TARGET; libFuzzer starts from these. Inputs that fuzzing has
added are kept. The codec is written from RFC 4506, RFC 5531 and RFC 1813, and shares no code with the library."""
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARGS, RESULT, ITEM = 0, 1, 2


def u32(*values):
    return struct.pack(f">{len(values)}I", *values)


def u64(*values):
    return struct.pack(f">{len(values)}Q", *values)


def opaque(data):
    return u32(len(data)) + data + bytes(-len(data) % 4)


def auth_sys(machine=b"host", gids=(4, 20)):
    return u32(1) + opaque(u32(7) + opaque(machine) + u32(1000, 100, len(gids), *gids))


NONE = u32(0, 0)
FH = opaque(bytes(range(16)))
ATTR = u32(1, 0o644, 1, 1000, 100) + u64(5, 4096) + u32(0, 0) + u64(17, 42) + u32(1, 2, 3, 4, 5, 6)
POST = u32(1) + ATTR
WCC = u32(1) + u64(5) + u32(3, 4, 5, 6) + POST
SATTR = u32(1, 0o600, 1, 5, 0, 1) + u64(9) + u32(1, 2, 7, 8)
WHERE = FH + opaque(b"name")
MADE = u32(0, 1) + FH + POST + WCC
VERF = bytes(8)
ENTRY = u32(1) + u64(3) + opaque(b"file") + u64(1)
NFS3 = [
    (b"", b""),
    (FH, u32(0) + ATTR),
    (FH + SATTR + u32(1, 5, 6), u32(0) + WCC),
    (WHERE, u32(0) + FH + POST + u32(0)),
    (FH + u32(63), u32(0) + POST + u32(31)),
    (FH, u32(0) + POST + opaque(b"target")),
    (FH + u64(0) + u32(5), u32(0) + POST + u32(5, 1) + opaque(b"bytes")),
    (FH + u64(0) + u32(5, 2) + opaque(b"bytes"), u32(0) + WCC + u32(5, 2) + VERF),
    (WHERE + u32(2) + VERF, MADE),
    (WHERE + SATTR, MADE),
    (WHERE + SATTR + opaque(b"target"), MADE),
    (WHERE + u32(3) + SATTR + u32(8, 1), MADE),
    (WHERE, u32(0) + WCC),
    (WHERE, u32(66) + WCC),
    (WHERE + FH + opaque(b"other"), u32(0) + WCC + WCC),
    (FH + WHERE, u32(0) + POST + WCC),
    (FH + u64(0) + VERF + u32(4096), u32(0) + POST + VERF + ENTRY + ENTRY + u32(0, 1)),
    (FH + u64(0) + VERF + u32(512, 4096), u32(0) + POST + VERF + ENTRY + POST + u32(1) + FH + u32(0, 0)),
    (FH, u32(0) + POST + u64(9, 8, 7, 6, 5, 4) + u32(0)),
    (FH, u32(0) + POST + u32(65536, 65536, 512, 65536, 65536, 512, 4096) + u64(1 << 40) + u32(0, 1, 27)),
    (FH, u32(0) + POST + u32(32000, 255, 1, 1, 0, 1)),
    (FH + u64(0) + u32(0), u32(0) + WCC + VERF),
]
MOUNT3 = [
    (b"", b""),
    (opaque(b"/export"), u32(0) + FH + u32(2, 1, 390003)),
    (b"", u32(1) + opaque(b"host") + opaque(b"/export") + u32(0)),
    (opaque(b"/export"), b""),
    (b"", b""),
    (b"", u32(1) + opaque(b"/export") + u32(1) + opaque(b"group") + u32(0, 1) + opaque(b"/two") + u32(0, 0)),
]


def typed(procedures):
    for number, (arguments, result) in enumerate(procedures):
        yield f"{number:02}_args", bytes([number, ARGS, 0]) + arguments
        yield f"{number:02}_result", bytes([number, RESULT, 7]) + result


def nfs3():
    yield from typed(NFS3)
    yield "07_reduced", bytes([7, ARGS | ITEM, 0]) + struct.pack(">HI", (len(NFS3[7][0]) - 8) // 4, 5) + NFS3[7][0][:-8]
    yield "06_reduced", bytes([6, RESULT | ITEM, 0]) + struct.pack(">HI", 0, 5) + NFS3[6][1][:-8]
    yield "01_error", bytes([1, RESULT, 0]) + u32(70)


def rpc_message():
    call = u32(1, 0, 2, 100003, 3, 1)
    yield "call_sys", b"\0" + call + auth_sys() + NONE + FH
    yield "call_pieces", b"\5" + call + auth_sys(b"x" * 33, range(16)) + NONE
    yield "call_none", b"\0" + call + NONE + NONE
    yield "call_gss", b"\0" + call + u32(6) + opaque(b"token") + u32(6) + opaque(b"verifier")
    yield "call_many_gids", b"\0" + call + auth_sys(gids=range(17)) + NONE
    yield "call_version", b"\0" + u32(1, 0, 3, 100003)
    yield "call_short", b"\0" + call[:18]
    yield "reply_ok", b"\3" + u32(1, 1, 0) + NONE + u32(0) + u32(0)
    yield "reply_mismatch", b"\0" + u32(1, 1, 0) + NONE + u32(2, 3, 4)
    yield "reply_garbage", b"\0" + u32(1, 1, 0, 6) + opaque(b"verifier") + u32(4)
    yield "reply_denied", b"\0" + u32(1, 1, 1, 0, 2, 2)
    yield "reply_auth", b"\0" + u32(1, 1, 1, 1, 5)


def texts(*lines):
    for number, line in enumerate(lines):
        yield f"{number:02}", line.encode()


def url():
    return texts("nfs://host/export", "nfs://host:2049/export/a/b", "nfs://[::1]:20049/", "nfs://[fe80::1%25eth0]/x",
                 "nfs://10.0.0.1/a%20b/%25/./c//d", "nfs://host", "nfs://host/a/..", "nfs://host:0/", "nfs:///x",
                 "nfs://[[x]/", "http://host/", "nfs://host/%2f", "nfs://host/%00", "nfs://host/%4", "nfs://host/a\0b")


def export_spec():
    return texts("/srv", "/srv/data:/data,ro", "memory:/m,size=64M,async", "/a\\,b\\:c\\\\d:/x", "\\memory:/m", "/:/,rw",
                 "dir,allow=10.0.0.0/8,allow=fe80::/10,all_squash,anonuid=5,anongid=6", "/srv:/x,secure,devices",
                 "/srv:/x/,no_root_squash,insecure,nodevices,sync", "memory:/m,size=18446744073709551615", ":/x", "",
                 "/srv:x", "/srv,size=1", "/srv:/x,allow=300.1.1.1", "/srv:/x,unknown=1", "memory", ".", "/srv:/a\\,b")


WHOLE = """listen = ["127.0.0.1:0", "iwarp@[::1]:0"]
tcp-listen = ["0.0.0.0:2049"]
fabric = "iwarp"
crc = "on"
rdma-version = "auto"
state-dir = "/var/lib/x"
sandbox = "strict"
threads = 3
credits = 8
inline-threshold = 8192
max-connections = 7
keepalive = 30
poll = "off"
log-level = "debug"
rpcbind = true
[[export]]
directory = "/srv"
name = "/data"
clients = ["10.0.0.0/8", "fe80::1"]
read-only = true
sync = false
devices = true
reserved-ports = true
squash = "all"
anonuid = 5
anongid = 6
[[export]]
memory = true
name = "/m"
size = "64M"
"""


def config():
    return texts(WHOLE, "", "threads = 0", "unknown = 1", "export = 1", '[[export]]\ndirectory = "x"', "listen = [1]",
                 'fabric = "x\\ny"', "a = [[[[[[[[", 'state-dir = "relative"', "[[export]]\nmemory = true\nsize = -1",
                 '[[export]]\ndirectory = "/x"\nsize = "1G"', 'listen = ["host:1"]', "threads = 1.5", "x = 1979-05-27",
                 'state-dir = "\\u0000"', 'squash = "\\', '[[export]]\nmemory = true\n"a\\nb" = 1')


SYS_CALL = u32(9, 1, 8, 0, 0, 0, 0, 9, 0, 0)  # header and the smallest call


def call(how, credits, counts, lists, wish, words):
    """A step of responder.cpp: a call with chunks."""
    return bytes([1 + 10 * how, credits, counts]) + lists + u32(wish) + bytes([words])


def responder():
    start = bytes([48, 1])
    read, write = bytes([2, 10]), bytes([22, 200])
    yield "raw", start + bytes([0, len(SYS_CALL) // 4]) + SYS_CALL
    yield "calls", start + call(0, 8, 0, b"", 0, 0) * 5
    yield "read_chunk", start + read + call(0, 8, 1, bytes([3, 0x70]), 3, 1)
    yield "two_read_chunks", start + read * 2 + call(0, 8, 2, bytes([3, 0x70, 3, 0x71]), 3, 1)
    yield "long_call", start + read + call(1, 8, 97, bytes([0, 0x70]), 0, 2)
    yield "write_chunk", start + write + call(0, 8, 4, bytes([1, 0x70]), 0x100, 0)
    yield "reply_chunk", start + write + call(0, 8, 16, bytes([1, 0x70]), 0x400 << 16, 0)
    yield "wrong_handle", start + read + call(0, 8, 1, bytes([3, 0x30]), 3, 1)
    yield "wrong_length", start + read + call(0, 8, 1, bytes([3, 0x50]), 3, 1)
    yield "unanswered", start + read + bytes([4]) + call(0, 8, 1, bytes([3, 0x70]), 3, 1) + bytes([3])
    yield "half_placed", start + write + bytes([14]) + call(0, 8, 4, bytes([1, 0x70]), 0x500, 0) + bytes([5, 3])
    yield "dropped", bytes([51, 9]) + bytes([26]) + call(0, 8, 0, b"", 0, 0) * 4
    yield "peer_accesses", start + bytes([8]) + u32(5) + bytes([0, 9, 0]) + bytes([3])
    yield "invalidates", start + bytes([9]) + u32(5) + bytes([40]) + SYS_CALL
    yield "too_long", start + call(0, 8, 0, b"", 0, 255)
    yield "flood", bytes([112, 1, 4]) + call(0, 255, 0, b"", 0, 0) * 20
    yield "discard_fail", start + call(0, 8, 0, b"", 1, 0) + call(0, 8, 0, b"", 2, 0)
    yield "version_two", bytes([56, 1]) + bytes([0, 9]) + u32(9, 2, 8, 0, 0, 0, 0, 0, 9)


def reply(which=0, changes=0, credits=8, length=0, more=b""):
    """A step of requester.cpp: a reply."""
    return bytes([3, which, changes, credits, length]) + bytes([len(more)]) + more


def requester():
    start = bytes([48, 1])
    yield "reply", start + bytes([0, 0]) + reply()
    yield "result", start + bytes([0, 0x70]) + bytes([5, 0, 1, 0, 50]) + b"r" * 50 + reply(length=3)
    yield "long_call", start + bytes([0, 3]) + bytes([6, 0, 0, 9]) + reply()
    yield "long_reply", start + bytes([0, 0xc0]) + reply(changes=1, length=16)
    yield "item", start + bytes([0, 12]) + bytes([6, 0, 0, 9]) + reply()
    yield "invalidate", start + bytes([0, 0x70, 3, 0, 64, 8, 0, 0, 1, 0])
    yield "wrong_xid", start + bytes([0, 0]) + reply(changes=2, more=b"") + reply()
    yield "many", start + bytes([0, 0x55]) * 12 + b"".join(reply(i) for i in range(12))
    yield "no_credits", start + bytes([0, 0]) * 3 + reply(credits=0) + reply(1, credits=0)
    yield "cancel", start + bytes([0, 0x70, 2]) + reply()
    yield "reconnect", start + bytes([0, 0x70, 7]) + reply() + bytes([0, 0, 7]) + reply(1)
    yield "bytes", start + bytes([0, 0, 4, 7]) + u32(1, 1, 8, 4, 2, 1, 1)
    yield "reverse_call", start + bytes([0, 0]) + reply(changes=32)
    yield "paused", start + bytes([26, 0, 0x70, 17]) + reply() + bytes([2])
    yield "dropped", bytes([51, 3]) + bytes([8, 0, 0x70, 0, 0]) + reply()
    yield "version_two", bytes([56, 1]) + bytes([0, 0, 4, 8]) + u32(1, 2, 8, 0, 1, 0, 0, 0)


REG, DIR, BLK, LNK = 1, 2, 3, 5
BOTH, LAST, END, FAILS, LARGE, LONG = 3, 4, 8, 16, 32, 64  # flags of get_tree.cpp; BOTH: attributes and a handle


def entry(name, kind=REG, handle=1, flags=BOTH, cookie=1, mode=0o644, size=1):
    """An entry of a listing in get_tree.cpp."""
    return struct.pack(">BBBHBB", flags, handle << 4 | kind, cookie, mode, size, len(name)) + name


def get_tree():
    last = BOTH | LAST | END
    file = entry(b"file", flags=last)
    yield "file", b"\0" + file
    yield "resumed", b"\2" + entry(b"f", flags=last)
    yield "into_a_child", b"\4" + file
    yield "tree", b"\1" + entry(b"dir", DIR, 1) + entry(b"link", LNK, 2) + entry(b"file", flags=last) + file
    yield "pages", b"\0" + entry(b"one", flags=BOTH | LAST) + entry(b"two", flags=last, cookie=2)
    yield "same_cookie", b"\0" + entry(b"one", flags=BOTH | LAST, cookie=0)
    yield "itself", b"\1" + entry(b"again", DIR, 0, flags=last)
    yield "names", b"\0" + b"".join(map(entry, (b"../x", b"..", b".", b"", b"a/b", b"/tmp/x", b"nul\0x"))) + file
    yield "over_a_link", b"\0" + entry(b"l", DIR, 1) + entry(b"l", flags=last) + entry(b"file", flags=last)
    yield "link_and_directory", b"\0" + entry(b"x", LNK, 1) + entry(b"x", DIR, 2) + entry(b"x", flags=last) + file
    yield "over_a_directory", b"\0" + entry(b"d", flags=last)
    yield "set_id", b"\0" + entry(b"a", mode=0o6777) + entry(b"b", DIR, 2, mode=0o7777) + file
    yield "other_types", b"\0" + entry(b"a", BLK) + entry(b"b", 0) + entry(b"c", 15) + file
    yield "without_attributes", b"\0" + entry(b"bare", flags=0) + entry(b"half", flags=1) + file
    yield "itself_without_attributes", b"\1" + entry(b"again", DIR, 0, flags=1 | LAST | END)
    yield "refused", b"\0" + entry(b"", flags=last | FAILS)
    yield "large", b"\0" + entry(b"huge", flags=last | LARGE, size=127)
    yield "long_name", b"\0" + entry(b"x" * 20, flags=last | LONG)


def read_response():
    def response(*frames, blocks=62, flags=0, slices=255):
        """Frames of these sizes, one byte longer if `slices` is odd; a negative size is that of a Send."""
        sizes = [abs(size) // 2 | (0x8000 if size < 0 else 0) for size in frames]
        return bytes([blocks << 2 | flags, slices]) + struct.pack(f">{len(sizes)}H", *sizes)

    usual = [60000] * 9
    mixed = [60000, 60000, -100, 60000, 10, 64000, -60000, 60000, 60000, 9000, 60000, 60000, 60000]
    yield "usual", response(*usual, slices=254)
    yield "usual_crc", response(*usual, flags=1)
    yield "usual_slices", response(*usual, slices=40)
    yield "mixed", response(*mixed)
    yield "mixed_crc", response(*mixed, flags=1, slices=90)
    yield "mixed_markers", response(*mixed, flags=3)
    yield "growing", response(20000, 20006, 30000, 40000, 64000, 64000, 64000)
    yield "send_after_each", response(*[60000, -100] * 8)
    yield "pairs", response(*[30000, 30000, -40] * 6)
    yield "unfinished", response(60000, 60000, -64000)
    yield "bytes", response(9000, -8, 20, 9000, slices=0, blocks=3)


def main():
    for target in (rpc_message, nfs3, url, export_spec, config, get_tree, responder, requester, read_response):
        write(target.__name__, target())
    write("mount3", typed(MOUNT3))


def write(target, seeds):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds:
        (folder / name).write_bytes(content)


main()
