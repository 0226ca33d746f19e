// SPDX-License-Identifier: BSD-3-Clause
// DDP segments that are unusual but right (RFC 5041). Those that are wrong are in violations.cpp.
#include <fmt/format.h>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

void in_segments(Peer& peer, std::size_t part) {
  Untagged header;
  header.msn = peer.next_msn();
  const Bytes call = peer.null_call();
  for (std::size_t at = 0; at < call.size(); at += part) {
    header.offset = static_cast<std::uint32_t>(at);
    header.last = at + part >= call.size();
    peer.segment(header, View(call).subspan(at, std::min(part, call.size() - at)));
  }
  peer.expect_answer();
}

}  // namespace

void add_ddp(const MakeFamily& make) {
  auto family = make("ddp");
  for (const std::size_t part : {1, 7, 64})
    family.must(fmt::format("segments-of-{}", part), "5041-5.2-c 5041-5.4-a 5041-4.3-d",
                fmt::format("calls in segments of {} bytes", part), "an answer to each", [part](Peer& peer) {
                  peer.start();
                  for (int i = 0; i < 3; ++i) in_segments(peer, part);
                });
  family.must("last-segment-empty", "5041-4.1-b 5041-5.4-a", "a call whose last segment has no payload", "an answer",
              [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                const Bytes call = peer.null_call();
                header.last = false;
                peer.segment(header, call);
                Record::expect(!peer.speaks_soon(), "an answer before the last segment");
                header.last = true;
                header.offset = static_cast<std::uint32_t>(call.size());
                peer.segment(header, {});
                peer.expect_answer();
              });
  family.must("reserved-bits", "5041-4.1-e", "a call with the reserved bits of the DDP header set",
              "the bits are not checked: an answer", [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                header.ddp_reserved = 0x0F;
                peer.segment(header, peer.null_call());
                peer.expect_answer();
              });
  family.must("empty-write", "5041-5.2-d 5041-5.2-e 5040-5.1-c",
              "a tagged message of zero bytes to a STag that does not exist",
              "STag and offset are not checked; the next call is answered", [](Peer& peer) {
                peer.start();
                Tagged header;
                header.stag = 0xDEADBEEF;
                header.offset = ~std::uint64_t{0};
                peer.segment(header, {});
                peer.expect_alive();
              });
  family.must("message-numbers", "5041-4.3-b 5041-5.3-d", "200 calls one after the other", "answers with MSN 1 to 200",
              [](Peer& peer) {
                peer.start();
                for (int i = 0; i < 200; ++i) peer.expect_alive();
              });
  family.must("queues-count-apart", "5041-4.3-b 5040-5.2.1-a", "calls and Read Requests of zero bytes by turns",
              "queues 0 and 1 each count from 1: all are answered", [](Peer& peer) {
                peer.start();
                for (std::uint32_t i = 1; i <= 4; ++i) {
                  peer.expect_alive();
                  Untagged header;
                  header.opcode = kReadRequest;
                  header.queue = kReadQueue;
                  header.msn = i;
                  peer.segment(header, encode(ReadRequest{i, 0, 0, 0, 0}));
                  peer.expect(kReadResponse);
                }
              });
}

}  // namespace rpcrdma::conform::iwarp
