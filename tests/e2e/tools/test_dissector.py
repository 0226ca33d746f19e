# SPDX-License-Identifier: BSD-3-Clause
"""tools/wireshark/rpcrdma2.lua decodes version two of RPC-over-RDMA with its characteristics, and survives any
input."""
import struct

from kit.case import Case
from kit.fabric import iwarp_only
from kit.trees import noise
from kit.wire.relay import Relay
from kit.wire.tshark import messages, packets
from kit.wire.vectors import capture_on_iwarp, capture_on_roce, vectors

MSG, NOMSG, ERROR = 0, 1, 4
ERR_VERS = 1
FIXED = 4  # words of the fixed part of the header
ENTRIES = 200
BULK = 300000


def segment(handle, length, offset):
    return f"segment.handle=0x{handle:08x} segment.length={length} segment.offset=0x{offset:016x}"


def value(which, length, *shown):
    return " ".join(["xchar=", f"xchar.which={which}", f"xchar.length={length}", *shown])


# The fields of each message of tests/data/generate-v2.py, in the order in which the dissector must show them.
EXPECTED = {
    "msg_call": "xid=0x00000010 version=2 credit=32 procedure=0 direction=0",
    "msg_reply": "xid=0x00000010 version=2 credit=16 procedure=0 direction=1",
    "msg_chunks": "xid=0x00000011 version=2 credit=32 procedure=0 direction=0"
                  f" read= read.position=128 {segment(0x1234, 5, 0x7F0000001000)}"
                  f" write= write.segments=2 segment= {segment(0x2222, 2048, 0x100000)}"
                  f" segment= {segment(0x2223, 2048, 0x200000)} write= write.segments=0"
                  f" reply= reply.segments=1 segment= {segment(0x4444, 8192, 0x9000)}",
    "nomsg_call": "xid=0x00000012 version=2 credit=32 procedure=1 direction=0"
                  f" read= read.position=0 {segment(0x3333, 1400, 0x1000)}",
    "nomsg_reply": "xid=0x00000012 version=2 credit=16 procedure=1 direction=1"
                   f" reply= reply.segments=1 segment= {segment(0x4444, 3000, 0x9000)}",
    "err_vers": "xid=0x00000013 version=2 credit=16 procedure=4 error=1 error.lowest=1 error.highest=1",
    "err_bad_header": "xid=0x00000014 version=2 credit=16 procedure=4 error=2",
    "err_inval_option": "xid=0x00000015 version=2 credit=16 procedure=4 error=3",
    "init": "xid=0xa0000010 version=2 credit=32 procedure=5 direction=0 option=1 option.length=36 xchar.count=2"
            f" {value(1, 4, 'xchar.receive_size=4096')} {value(3, 4, 'xchar.backward=2')}"
            " unchanging= subset.count=1 subset.word=0x00000003 subset.position=0 subset.position=1",
    "init_all": "xid=0x00000016 version=2 credit=1 procedure=5 direction=1 option=1 option.length=68 xchar.count=5"
                f" {value(0xFFFFFF00, 5, 'xchar.data=61:62:63:64:65')} {value(1, 4, 'xchar.receive_size=65536')}"
                f" {value(2, 4, 'xchar.remote_invalidation=1')} {value(3, 4, 'xchar.backward=3')} {value(0xFFFFFFFF, 0)}"
                " unchanging= subset.count=0",
    "request": "xid=0x00000017 version=2 credit=32 procedure=5 direction=0 option=2 option.length=28 xchar.count=2"
               f" {value(1, 4, 'xchar.receive_size=16384')} {value(2, 4, 'xchar.remote_invalidation=0')}",
    "response": "xid=0x00000017 version=2 credit=16 procedure=5 direction=1 option=3 option.length=20"
                " done= subset.count=0 rejected= subset.count=1 subset.word=0x00000002 subset.position=1"
                " pending= subset.count=1 subset.word=0x00000001 subset.position=0",
    "response_wide": "xid=0x00000018 version=2 credit=16 procedure=5 direction=1 option=3 option.length=24"
                     " done= subset.count=2 subset.word=0x80000001 subset.position=0 subset.position=31"
                     " subset.word=0x00000081 subset.position=32 subset.position=39"
                     " rejected= subset.count=1 subset.word=0x00000002 subset.position=1 pending= subset.count=0",
    "update": "xid=0x00000019 version=2 credit=16 procedure=5 direction=1 option=4 option.length=16"
              f" {value(1, 4, 'xchar.receive_size=16384')} pending_clear=1",
    "update_experiment": "xid=0x0000001b version=2 credit=16 procedure=5 direction=0 option=4 option.length=24"
                         f" {value(0xFFFFFF01, 12, 'xchar.data=72:70:63:72:64:6d:61:31:00:00:10:00')}"
                         " pending_clear=0",
    "unknown_option": "xid=0x0000001a version=2 credit=1 procedure=5 direction=0 option=77 option.length=3"
                      " option.data=78:79:7a",
}


def with_word(message, index, word):
    """The message with another word at `index`."""
    return message[:4 * index] + struct.pack(">I", word) + message[4 * index + 4:]


class Vectors(Case):
    """Captures made from the messages of tests/data."""

    timeout_s = 300

    def setUp(self):
        super().setUp()
        self.vectors = vectors()
        self.path = self.folder / "capture.pcap"

    def shown(self, capture, sends, **keywords):
        last_packets = capture(self.path, sends, **keywords)
        decoded = messages(self.path)
        return [decoded[index] for index in last_packets]

    def check_fields(self, capture, **keywords):
        self.assertEqual(EXPECTED.keys(), self.vectors.keys())
        for name, message in zip(self.vectors, self.shown(capture, self.vectors.values(), **keywords)):
            with self.subTest(vector=name):
                self.assertEqual(" ".join(f"{field}={text}" for field, text in message.fields), EXPECTED[name])
                self.assertEqual((message.malformed, message.lua_error, message.remarks), (False, False, []))
                self.assertEqual(message.is_nfs, name in ("msg_call", "msg_reply"))

    def test_every_field_on_iwarp(self):
        self.check_fields(capture_on_iwarp)

    def test_in_segments_on_iwarp(self):
        self.check_fields(capture_on_iwarp, largest=20)

    def test_every_field_on_roce(self):
        self.check_fields(capture_on_roce)

    def test_in_packets_on_roce(self):
        self.check_fields(capture_on_roce, largest=20)
        self.check_fields(capture_on_roce, largest=20, invalidate=True)

    def test_truncated(self):
        """A message cut within its header or option is shown as malformed."""
        whole = {"msg_call": 32, "msg_reply": 32, "msg_chunks": 124}  # bytes of the header: the RPC message follows
        cut = [(name, length) for name, message in self.vectors.items()
               for length in range(4 * FIXED, whole.get(name, len(message)))]
        shown = self.shown(capture_on_iwarp, [self.vectors[name][:length] for name, length in cut])
        for (name, length), message in zip(cut, shown):
            self.assertTrue(message.malformed and message.remarks, (name, length))
            self.assertFalse(message.lua_error, (name, length))

    def test_any_word_may_lie(self):
        """Wrong values of words do not make the dissector fail."""
        lies = [with_word(message, index, word) for message in self.vectors.values()
                for index in range(FIXED, len(message) // 4) for word in (2, 0x7FFFFFFF, 0xFFFFFFFF)]
        for message in self.shown(capture_on_iwarp, lies):
            self.assertFalse(message.lua_error)

    def test_lies(self):
        lies = [
            (with_word(self.vectors["msg_call"], 4, 2), "direction: 2 is not defined"),
            (with_word(self.vectors["msg_call"], 4, 1), "The direction differs from that of the RPC message"),
            (with_word(self.vectors["msg_call"], 5, 2), "Read list: 2 is neither 0 nor 1"),
            (with_word(self.vectors["msg_call"], 5, 1), "Read list: 100003 is neither 0 nor 1"),
            (with_word(self.vectors["msg_chunks"], 13, 1 << 28), "segments: 268435456 do not fit"),
            (self.vectors["nomsg_call"] + bytes(4), "RDMA2_NOMSG: bytes follow the header"),
            (with_word(self.vectors["err_vers"], 5, 3), "The range of versions is empty"),
            (with_word(self.vectors["err_vers"], 4, 9), "error: 9 is not defined"),
            (with_word(self.vectors["init"], 6, 0xFFFFFFFF), "option: 36 bytes are left, 4294967296 are needed"),
            (with_word(self.vectors["init"], 7, 1000000), "characteristics: 1000000 do not fit"),
            (with_word(self.vectors["init"], 9, 3), "Receive Buffer Size: 3 bytes instead of 4"),
            (with_word(self.vectors["init"], 13, 4), "Backward Request Support: 4 is not defined"),
            (with_word(self.vectors["init"], 15, 4), "There is no characteristic at position 2"),
            (with_word(self.vectors["init_all"], 17, 2), "Requester Remote Invalidation: neither 0 nor 1"),
            (with_word(self.vectors["response"], 9, 1), "Position 0 is in two of the sets"),
            (with_word(self.vectors["update"], 6, 20) + bytes(4), "UPD_XCHAR: 4 surplus bytes"),
            (self.vectors["update"] + bytes(4), "UPD_XCHAR: bytes follow the option"),
        ]
        for (sent, remark), message in zip(lies, self.shown(capture_on_iwarp, [sent for sent, _ in lies])):
            self.assertTrue(any(text.startswith(remark) for text in message.remarks), (sent.hex(" ", 4), remark, message.remarks))
            self.assertFalse(message.lua_error)

    def test_version_one_is_left_alone(self):
        one = with_word(self.vectors["msg_call"], 1, 1)
        self.assertEqual(self.shown(capture_on_iwarp, [one[:16] + one[20:]]), [None])


@iwarp_only("cuts the TCP stream into MPA frames")
class Sessions(Case):
    """Traffic of the programs over version two, and the negotiation."""

    timeout_s = 300

    def captured(self, version, of_server):
        server = self.server(options=["--rdma-version", of_server])
        folder = self.files / "many"
        folder.mkdir()
        for index in range(ENTRIES):
            (folder / f"entry {index}").touch()
        local = self.folder / "local"
        local.write_bytes(noise(BULK))
        capture = self.folder / "capture.pcap"
        with Relay(server.address, capture) as relay:
            options = ("--rdma-version", version)
            url = f"nfs://{relay.address}/files"
            self.assertEqual(len(self.nfs(*options, "ls", "-l", f"{url}/many").splitlines()), ENTRIES)
            self.nfs(*options, "put", local, f"{url}/bulk")
            self.nfs(*options, "get", f"{url}/bulk", self.folder / "back")
            ping = self.run_program("rpcrdma-ping", "--fabric", "iwarp", *options, "--count", "5", relay.address)
            self.assertEqual(ping.returncode, 0, ping.stderr)
        self.assertEqual((self.folder / "back").read_bytes(), local.read_bytes())
        return packets(capture)

    def check_nothing_malformed(self, seen):
        for packet in seen:
            with self.subTest(packet=packet):
                self.assertFalse(packet.has("_ws.malformed") or packet.has("_ws.lua"))
                self.assertEqual(packet.remarks if packet.has("rpcrdma2") else "", "")

    def test_version_two(self):
        seen = self.captured("2", "2")
        self.check_nothing_malformed(seen)
        self.assertFalse([packet for packet in seen if packet.has("rpcordma")])

        def some(what, condition):
            self.assertTrue(any(condition(packet) for packet in seen), what)

        # The server supports all reverse calls; a client without a reverse service supports none.
        for side, support in (("client", "NONE"), ("server", "GENL")):
            some(f"INIT_XCHAR of the {side}", lambda p, support=support: "INIT_XCHAR: Receive Buffer Size" in p.info and
                 f"BKRQSUP_{support}" in p.info)
        some("NULL", lambda p: p.number_of("message2") == MSG and "NULL Call" in p.info)
        some("WRITE with a Read chunk", lambda p: "WRITE Call" in p.info and p.number_of("positions2"))
        some("READ with a Write chunk", lambda p: "READ Call" in p.info and p.number_of("writes2") == 1)
        some("READDIRPLUS with a Reply chunk", lambda p: "READDIRPLUS Call" in p.info and p.number_of("reply_chunk2") == 1)
        some("a reply in the Reply chunk", lambda p: p.number_of("message2") == NOMSG and p.number_of("reply_chunk2") == 1)

    def test_fallback(self):
        """A client offers version two to a server without it: one call is refused, and the connection goes on with
        version one."""
        seen = self.captured("auto", "1")
        for stream in {packet.stream for packet in seen}:
            of_stream = [packet for packet in seen if packet.stream == stream]
            of_two = [packet for packet in of_stream if packet.has("rpcrdma2")]
            self.assertEqual([packet.number_of("message2") for packet in of_two], [MSG, ERROR])
            self.assertEqual(of_two[1].number_of("error2"), ERR_VERS)
            self.assertTrue(any(packet.has("rpcordma") for packet in of_stream))
