// SPDX-License-Identifier: BSD-3-Clause
// Unusual RDMAP messages (RFC 5040). Those that must end the connection are in violations.cpp.
#include <fmt/format.h>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

void add_sends(IwarpFamily& family) {
  family.must("send-with-se", "5040-5.3-a 5040-5.3-d", "a call by Send with Solicited Event", "an answer",
              [](Peer& peer) {
                peer.start();
                Untagged header;
                header.opcode = kSendSe;
                header.msn = peer.next_msn();
                peer.segment(header, peer.null_call());
                peer.expect_answer();
              });
  family.must("reserved-bits", "5040-4.1-c", "a call with the reserved bits of the RDMAP header set",
              "the bits are ignored: an answer", [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                header.rdmap_reserved = 3;
                peer.segment(header, peer.null_call());
                peer.expect_answer();
              });
  family.must("invalidate-field-of-a-send", "5040-4.1-d", "a Send whose Invalidate STag is not zero",
              "the field is ignored: an answer", [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                header.invalidate = 0xDEADBEEF;
                peer.segment(header, peer.null_call());
                peer.expect_answer();
              });
  family.robust("empty-send", "5040-5.3-b", "a Send of zero bytes",
                "the Send consumes a Receive; the connection ends, or the next call is answered", [](Peer& peer) {
                  peer.start();
                  peer.expect_alive();
                  Untagged header;
                  header.msn = peer.next_msn();
                  peer.segment(header, {});
                  header.msn = peer.next_msn();
                  peer.segment(header, peer.null_call());
                  Record::expect(!peer.receive(1).empty() || peer.last_end() != End::timeout, "neither");
                });
}

void add_reads(IwarpFamily& family) {
  family.must(
      "empty-read", "5040-5.2.1-e 5040-4.4-b 5040-5.2.2-a",
      "a Read Request of zero bytes from a STag that does not exist",
      "an empty Read Response with the sink STag and offset of the request", [](Peer& peer) {
        peer.start();
        peer.expect_alive();
        Untagged header;
        header.opcode = kReadRequest;
        header.queue = kReadQueue;
        peer.segment(header, encode(ReadRequest{0x01020304, 0x1122334455667788, 0, 0xDEADBEEF, ~std::uint64_t{0}}));
        const Segment answer = peer.expect(kReadResponse);
        Record::expect(answer.tagged && answer.last && answer.payload().empty(), "not one empty tagged segment");
        Record::expect(answer.stag == 0x01020304, fmt::format("sink STag {:#x}", answer.stag));
        Record::expect(answer.offset == 0x1122334455667788, fmt::format("sink offset {:#x}", answer.offset));
        peer.expect_alive();
      });
  family.must("reads-in-order", "5040-5.2.1-b 5040-5.2.2-a 5040-5.5-h",
              "four Read Requests of zero bytes, each after the answer to the previous one",
              "responses in the order of the requests", [](Peer& peer) {
                peer.start();
                for (std::uint32_t i = 1; i <= 4; ++i) {
                  Untagged header;
                  header.opcode = kReadRequest;
                  header.queue = kReadQueue;
                  header.msn = i;
                  peer.segment(header, encode(ReadRequest{i, i, 0, 0, 0}));
                  Record::expect(peer.expect(kReadResponse).stag == i, "another response");
                }
              });
  family.robust("reads-without-end", "5040-6.1-c", "1000 Read Requests of zero bytes at once",
                "all are answered, or a Terminate is sent; other connections are served", [](Peer& peer) {
                  peer.start();
                  Bytes burst;
                  for (std::uint32_t i = 1; i <= 1000; ++i) {
                    Untagged header;
                    header.opcode = kReadRequest;
                    header.queue = kReadQueue;
                    header.msn = i;
                    const Bytes one = fpdu(encode(header, encode(ReadRequest{i, 0, 0, 0, 0})));
                    burst.insert(burst.end(), one.begin(), one.end());
                  }
                  peer.send(burst);
                  for (int i = 0; i < 1000; ++i) {
                    const auto answer = peer.next();
                    if (!answer || answer->opcode == kTerminate) return;
                    Record::expect(answer->opcode == kReadResponse, "received a " + describe(*answer));
                  }
                });
}

}  // namespace

void add_rdmap(const MakeFamily& make) {
  auto family = make("rdmap");
  add_sends(family);
  add_reads(family);
}

}  // namespace rpcrdma::conform::iwarp
