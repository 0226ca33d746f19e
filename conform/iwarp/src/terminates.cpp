// SPDX-License-Identifier: BSD-3-Clause
// When a peer sends a Terminate, and how it reacts to a Terminate (RFC 5040 sections 4.8, 5.4 and 6.2).
#include <fmt/format.h>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

constexpr unsigned kDdpLayer = 1, kMpaLayer = 2;

Bytes bad_queue() {
  Untagged header;
  header.queue = 9;
  return fpdu(encode(header, pattern(40, 1)));
}

Bytes bad_write() {
  Tagged header;
  header.stag = 0xDEADBEEF;
  return fpdu(encode(header, pattern(40, 1)));
}

void add_sent(IwarpFamily& family) {
  family.must("bad-crc", "5044-8-a 5044-8-d 5040-7.1-b", "an FPDU with a wrong CRC", "Terminate 2/0/02 without headers",
              [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                peer.send(fpdu(encode(Tagged{}, {}), {1, 0}));
                const Segment terminate = peer.expect_terminate({{kMpaLayer, 0, 2}});
                Record::expect((In(terminate.payload()).u32() & 0xFFFF) == 0, "headers: " + hex(terminate.payload()));
              });
  family.must("only-the-first-error", "5040-7.1-c 5040-5.4-a", "two segments that break different rules, at once",
              "one Terminate, for the first segment", [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                Bytes both = bad_queue();
                const Bytes second = bad_write();
                both.insert(both.end(), second.begin(), second.end());
                peer.send(both);
                peer.expect_terminate({{kDdpLayer, 2, 1}});
              });
  family.should("graceful-close", "5040-6.2.1-c 5041-6.2.2-c", "a Send on queue 9",
                "the Terminate, then an orderly end instead of a reset", [](Peer& peer) {
                  peer.start();
                  peer.expect_alive();
                  peer.send(bad_queue());
                  peer.expect_terminate({{kDdpLayer, 2, 1}});
                  Record::expect(peer.last_end() == End::closed, "a reset");
                });
  family.must("nothing-placed-after-an-error", "5041-7.1-c 5040-5.4-c", "a Send on queue 9 and a good call, at once",
              "the call is not answered", [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                Bytes both = bad_queue();
                Untagged header;
                header.msn = peer.next_msn();
                const Bytes call = fpdu(encode(header, peer.null_call()));
                both.insert(both.end(), call.begin(), call.end());
                peer.send(both);
                peer.expect_end();
              });
  family.must("in-the-first-fpdu", "5040-7.1-b 5041-7.2-a", "a Send on queue 9 as the first FPDU", "Terminate 1/2/01",
              [](Peer& peer) {
                peer.start();
                peer.send(bad_queue());
                peer.expect_terminate({{kDdpLayer, 2, 1}});
              });
}

void received(Peer& peer, const Bytes& payload, std::uint32_t msn = 1) {
  peer.start();
  peer.expect_alive();
  Untagged header;
  header.opcode = kTerminate;
  header.queue = kTerminateQueue;
  header.msn = msn;
  peer.segment(header, payload);
  Bytes rest;
  Record::expect(peer.drain(rest, peer.options().patience) != End::timeout, "the connection stays open");
  Record::expect(rest.empty(), "something was sent after the Terminate was received: " + hex(rest));
}

void add_received(IwarpFamily& family) {
  static constexpr TerminateCode kCodes[] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 9}, {1, 1, 1},
                                             {1, 2, 5}, {2, 0, 2}, {2, 0, 6}, {15, 15, 255}};
  for (const TerminateCode& code : kCodes)
    family.add(code.layer > 2 ? Level::robustness : Level::should,
               fmt::format("code-{}-{}-{:02x}", code.layer, code.type, code.code), "5040-5.4-b 5040-5.4-d",
               "a Terminate " + describe(code), "the connection ends; no Terminate answers it",
               [code](Peer& peer) { received(peer, encode_terminate(code)); });
  family.should("reserved-bits", "5040-4.8-b", "a Terminate with its 13 reserved bits set",
                "the bits are ignored; the connection ends", [](Peer& peer) {
                  received(peer, encode_terminate({1, 2, 5}, 0x1FFF));
                });
  family.robust("headers-missing", "", "a Terminate that announces headers and has none", "the connection ends",
                [](Peer& peer) {
                  peer.start();
                  peer.expect_alive();
                  Untagged header;
                  header.opcode = kTerminate;
                  header.queue = kTerminateQueue;
                  peer.segment(header, encode_terminate({1, 2, 5}, 0xE000));
                  peer.expect_end();
                });
  for (const std::size_t size : {0, 1, 3})
    family.robust(fmt::format("of-{}-bytes", size), "", fmt::format("a Terminate of {} bytes", size),
                  "the connection ends", [size](Peer& peer) {
                    peer.start();
                    peer.expect_alive();
                    Untagged header;
                    header.opcode = kTerminate;
                    header.queue = kTerminateQueue;
                    peer.segment(header, View(encode_terminate({1, 2, 5})).first(size));
                    peer.expect_end();
                  });
  family.robust("of-60000-bytes", "", "a Terminate of 60000 bytes", "the connection ends", [](Peer& peer) {
    peer.start();
    peer.expect_alive();
    Untagged header;
    header.opcode = kTerminate;
    header.queue = kTerminateQueue;
    Bytes payload = encode_terminate({1, 2, 5});
    payload.resize(60000);
    peer.segment(header, payload);
    peer.expect_end();
  });
  family.must("call-and-terminate", "5040-5.4-b", "a call and a Terminate at once",
              "the connection ends, with or without the answer", [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                Bytes both = fpdu(encode(header, peer.null_call()));
                Untagged last;
                last.opcode = kTerminate;
                last.queue = kTerminateQueue;
                const Bytes second = fpdu(encode(last, encode_terminate({1, 2, 5})));
                both.insert(both.end(), second.begin(), second.end());
                peer.send(both);
                Bytes rest;
                Record::expect(peer.drain(rest, peer.options().patience) != End::timeout, "the connection stays open");
              });
}

}  // namespace

void add_terminates(const MakeFamily& make) {
  auto sent = make("terminate-sent"), taken = make("terminate-received");
  add_sent(sent);
  add_received(taken);
}

}  // namespace rpcrdma::conform::iwarp
