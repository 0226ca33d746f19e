// SPDX-License-Identifier: BSD-3-Clause
// MPA Requests that a responder accepts, and its Replies (RFC 5044 section 7.1).
#include <fmt/format.h>

#include <thread>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

void accepted(Peer& peer, const Request& request) {
  peer.start(request);
  peer.expect_alive();
}

void add_private_data(IwarpFamily& family) {
  for (const std::size_t size : {0, 1, 8, 255, 511, 512})
    family.must(fmt::format("private-data-{}", size), "5044-7.1.1-h 5044-7.1.2-c",
                fmt::format("a Request with {} bytes of private data", size),
                "a well-formed Reply; the private data may be refused by R=1", [size](Peer& peer) {
                  Request request;
                  request.private_data = pattern(size, 7);
                  peer.send(encode(request));
                  const Reply reply = peer.expect_reply();
                  if ((reply.flags & kReject) != 0) return;
                  peer.expect_alive();
                });
}

void add_flags(IwarpFamily& family) {
  family.must("reject-bit", "5044-7.1.1-e", "a Request with R=1", "R is ignored in a Request: the Request is accepted",
              [](Peer& peer) {
                Request request = peer.request();
                request.flags |= kReject;
                accepted(peer, request);
              });
  family.must("reserved-bits", "5044-7.1.1-f", "a Request with the four reserved bits set",
              "reserved bits are not checked: the Request is accepted", [](Peer& peer) {
                Request request = peer.request();
                request.flags |= 0x0F;
                accepted(peer, request);
              });
  family.must("crc-asked-for", "5044-7.1.1-d 5044-4.4-c", "a Request with C=1, then a call",
              "all FPDUs of the responder have a right CRC, whatever C is in the Reply", [](Peer& peer) {
                peer.start();
                for (int i = 0; i < 3; ++i) peer.expect_alive();
              });
  family.must("crc-not-asked-for", "5044-7.1.1-d 5044-4.4-f", "a Request with C=0, then a call",
              "FPDUs have a CRC field; it is right if the Reply has C=1", [](Peer& peer) {
                Request request = peer.request();
                request.flags &= kEnhanced;
                accepted(peer, request);
              });
}

void add_replies(IwarpFamily& family) {
  family.must("reply-of-revision-1", "5044-7.1.1-a 5044-7.1.1-g 6581-10-b", "a Request of revision 1",
              "a Reply of revision 1, not enhanced", [](Peer& peer) {
                const Reply reply = peer.start(Request{});
                Record::expect(reply.revision == 1, fmt::format("revision {}", reply.revision));
                Record::expect((reply.flags & kEnhanced) == 0, "an enhanced Reply");
                peer.expect_alive();
              });
  family.must("reply-reserved-bits", "5044-7.1.1-f", "a Request with the reserved bits set",
              "the reserved bits of the Reply are zero", [](Peer& peer) {
                Request request = peer.request();
                request.flags |= 0x0F;
                const Reply reply = peer.start(request);
                Record::expect((reply.flags & 0x0F) == 0, fmt::format("flags {:#04x}", reply.flags));
              });
  family.must("responder-is-silent", "5044-7.1.2-h", "a Request, then nothing",
              "the responder sends no FPDU before it has received one", [](Peer& peer) {
                peer.start();
                if (peer.speaks_soon()) Record::fail("the responder sends first: " + hex(peer.receive(20)));
                peer.expect_alive();
              });
  family.must("no-markers-unasked", "5044-4.3-i", "a Request with M=0, then calls with more than 512 bytes of answers",
              "the responder sends no markers", [](Peer& peer) {
                peer.start();
                for (int i = 0; i < 12; ++i) peer.expect_alive();
              });
  family.must("markers-asked-for", "5044-4.3-a 5044-4.3-b 5044-4.3-e",
              "a Request with M=1, then calls with more than 512 bytes of answers",
              "markers in the right places, the first one before the first FPDU", [](Peer& peer) {
                Request request = peer.request();
                request.flags |= kMarkers;
                peer.start(request);
                peer.expect_markers();
                for (int i = 0; i < 20; ++i) peer.expect_alive();
              });
}

void add_pieces(IwarpFamily& family) {
  family.must("one-byte-at-a-time", "5044-7.1.2-c", "a Request in TCP segments of one byte", "the Request is accepted",
              [](Peer& peer) {
                Request request = peer.request();
                request.private_data = pattern(8, 1);
                const Bytes bytes = encode(request);
                for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
                  peer.send(View(bytes).subspan(i, 1));
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                peer.send(View(bytes).last(1));
                Record::expect((peer.expect_reply().flags & kReject) == 0, "rejected");
                peer.expect_alive();
              });
  for (const std::size_t at : {16, 19, 20})
    family.must(fmt::format("in-two-parts-{}", at), "5044-7.1.2-c",
                fmt::format("a Request in two parts, cut at byte {}", at), "the Request is accepted", [at](Peer& peer) {
                  Request request = peer.request();
                  request.private_data = pattern(12, 1);
                  const Bytes bytes = encode(request);
                  peer.send(View(bytes).first(at));
                  Record::expect(!peer.speaks_soon(), "an answer to half a Request");
                  peer.send(View(bytes).subspan(at));
                  Record::expect((peer.expect_reply().flags & kReject) == 0, "rejected");
                  peer.expect_alive();
                });
  family.robust("call-before-the-reply", "", "a Request and a call in one TCP segment",
                "an answer, or the end of the connection", [](Peer& peer) {
                  Bytes bytes = encode(peer.request());
                  Untagged header;
                  header.msn = peer.next_msn();
                  const Bytes call = fpdu(encode(header, peer.null_call()));
                  bytes.insert(bytes.end(), call.begin(), call.end());
                  peer.send(bytes);
                  const Bytes first = peer.receive(1);
                  Record::expect(!first.empty() || peer.last_end() != End::timeout, "neither");
                });
}

}  // namespace

void add_requests(const MakeFamily& make) {
  auto family = make("request");
  add_private_data(family);
  add_flags(family);
  add_replies(family);
  add_pieces(family);
}

}  // namespace rpcrdma::conform::iwarp
