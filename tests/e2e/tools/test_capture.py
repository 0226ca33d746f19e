# SPDX-License-Identifier: BSD-3-Clause
"""tshark decodes the traffic of the programs and finds no error in it."""
from kit.case import Case
from kit.fabric import iwarp_only
from kit.trees import noise
from kit.wire import iwarp, rpc
from kit.wire.recut import recut
from kit.wire.relay import Relay
from kit.wire.tcpdump import Tcpdump
from kit.wire.tshark import crc_verdicts, packets

CALL = 0  # rpc.msgtyp
ENTRIES = 2000
BULK = 3000000


@iwarp_only("cuts the TCP stream into MPA frames; tests/interop captures traffic over verbs")
class Capture(Case):
    """ping, ls -l of a directory of 2,000 entries, put and get of 3 MB, with CRCs."""

    timeout_s = 300

    def setUp(self):
        super().setUp()
        self.one = self.server(options=["--crc", "on"])
        folder = self.files / "many"
        folder.mkdir()
        for index in range(ENTRIES):
            (folder / f"entry {index}").touch()
        self.capture = self.folder / "capture.pcap"
        self.local = self.folder / "local"
        self.local.write_bytes(noise(BULK))

    def exchange(self, address):
        ping = self.run_program("rpcrdma-ping", "--fabric", "iwarp", "--count", "5", address)
        self.assertEqual(ping.returncode, 0, ping.stderr)
        self.assertEqual(len(self.nfs("ls", "-l", f"nfs://{address}/files/many").splitlines()), ENTRIES)
        self.nfs("put", self.local, f"nfs://{address}/files/bulk")
        self.nfs("get", f"nfs://{address}/files/bulk", self.folder / "back")
        self.assertEqual((self.folder / "back").read_bytes(), noise(BULK))

    def check(self):
        """Checks tshark's findings on the whole capture."""
        good, bad = crc_verdicts(self.capture)
        self.assertEqual(bad, 0)
        self.assertGreater(good, 2 * BULK // 65536)
        seen = packets(self.capture)
        for layer in ("iwarp_mpa", "iwarp_ddp_rdmap", "rpcordma", "rpc", "nfs"):
            self.assertTrue(any(packet.has(layer) for packet in seen), layer)
        for packet in seen:
            with self.subTest(packet=packet):
                # [5040-6.1-a] Every packet that carries data contains MPA.
                self.assertTrue(packet.has("iwarp_mpa") or "Len=0" in packet.info)
                # A limit of the dissector: it misses the body of READ replies whose data is in a Write chunk.
                if packet.has("_ws.malformed"):
                    self.assertIn("READ Reply", packet.info)
        self.check_operations(seen)

    def check_operations(self, seen):
        def some(what, condition):
            self.assertTrue(any(condition(packet) for packet in seen), what)

        some("NULL", lambda p: "NULL Call" in p.info)
        some("READ by Write chunk", lambda p: p.number_of("procedure") == rpc.READ and p.number_of("rpc") == CALL and
             p.number_of("writes") == 1)
        some("RDMA Write", lambda p: p.opcode(iwarp.WRITE))
        some("WRITE by Read chunk", lambda p: p.number_of("message") == rpc.MSG and p.number_of("reads") == 1 and
             p.number_of("positions") not in (None, 0))
        some("RDMA Read Request", lambda p: p.opcode(iwarp.READ_REQUEST))
        some("RDMA Read Response", lambda p: p.opcode(iwarp.READ_RESPONSE))
        some("a reassembled WRITE", lambda p: p.number_of("procedure") == rpc.WRITE)
        some("a call with a Reply chunk", lambda p: p.number_of("procedure") == rpc.READDIRPLUS and
             p.number_of("rpc") == CALL and p.number_of("reply_chunk") == 1)
        some("a reply in the Reply chunk", lambda p: p.number_of("message") == rpc.NOMSG and
             p.number_of("reply_chunk") == 1)
        some("Send with Invalidate", lambda p: p.opcode(iwarp.SEND_INVALIDATE))
        self.assertFalse(any(packet.opcode(iwarp.TERMINATE) for packet in seen))

    def test_through_a_relay(self):
        with Relay(self.one.address, self.capture) as relay:
            self.exchange(relay.address)
        self.check()

    def test_on_the_loopback_interface(self):
        """The traffic as the kernel carried it."""
        tcpdump = Tcpdump(self, self.folder / "captured.pcap", self.one.port)
        self.exchange(self.one.address)
        tcpdump.stop()
        self.assertGreater(recut(tcpdump.path, self.capture, self.one.port), 2 * BULK)
        self.check()


@iwarp_only("CRCs are asked for in MPA's set-up")
class WithoutCrc(Case):
    def test_crc_off_on_loopback(self):
        """The default between loopback addresses: neither side requests CRCs."""
        server = self.server()
        with iwarp.Peer(server.address) as peer:
            flags, revision, _ = peer.handshake()
            self.assertEqual((flags & iwarp.CRC_BIT, revision), (0, 2))
