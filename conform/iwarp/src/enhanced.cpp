// SPDX-License-Identifier: BSD-3-Clause
// Enhanced connection setup (RFC 6581): read depths, and the message that makes a connection ready (RTR).
#include <fmt/format.h>

#include <deque>

#include "families.hpp"
#include "rpcrdma/conform/codec/header.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

constexpr const char* kRejected = "the responder rejects these read depths";

/// Sends an enhanced Request with `word` and returns the Reply. The case fails unless the Reply is enhanced and accepts
/// the connection. The case is skipped if the connection ends before a whole Reply has arrived. With `may_reject`, the
/// case is also skipped if the Reply rejects the connection.
Reply start(Peer& peer, const Enhanced& word, bool may_reject = false) {
  const Request request = enhanced_request(word);
  peer.send(encode(request));
  Reply reply;
  try {
    reply = peer.expect_reply();
  } catch (const CaseFailed&) {
    if (peer.last_end() == End::timeout) throw;
    Record::skip("the responder does not support enhanced connection setup");
  }
  if (may_reject && (reply.flags & kReject) != 0) Record::skip(kRejected);
  Record::expect((reply.flags & kReject) == 0, "the responder rejects the connection");
  Record::expect(reply.enhanced.has_value(), fmt::format("a Reply that is not enhanced: flags {:#04x}", reply.flags));
  return reply;
}

void add_enhanced_replies(IwarpFamily& family) {
  family.must("reply", "6581-10-a 6581-6-a 6581-6-e", "an enhanced Request",
              "an enhanced Reply of revision 2 with a word of read depths", [](Peer& peer) {
                const Reply reply = start(peer, {});
                Record::expect(reply.revision == 2, fmt::format("revision {}", reply.revision));
                peer.expect_alive();
              });
  family.must("revision-2-without-word", "6581-10-b", "a Request of revision 2 with S=0", "a Reply with S=0",
              [](Peer& peer) {
                Request request;
                request.revision = 2;
                peer.send(encode(request));
                const Reply reply = peer.expect_reply();
                Record::expect((reply.flags & kEnhanced) == 0, "an enhanced Reply");
                if ((reply.flags & kReject) == 0) peer.expect_alive();
              });
  for (const std::size_t size : {0, 1, 3})
    family.must(fmt::format("word-of-{}-bytes", size), "6581-6-d",
                fmt::format("an enhanced Request with {} bytes of private data", size),
                "the Request is malformed: the responder does not accept it", [size](Peer& peer) {
                  Request request;
                  request.flags = kCrc | kEnhanced;
                  request.revision = 2;
                  request.private_data = pattern(size, 9);
                  peer.send(encode(request));
                  peer.finish_sending();
                  peer.expect_refused();
                });
  family.must("private-data-508", "6581-6-e", "an enhanced Request with 508 bytes after the word",
              "a well-formed Reply", [](Peer& peer) {
                Request request = enhanced_request({});
                request.private_data = pattern(508, 3);
                peer.send(encode(request));
                if ((peer.expect_reply().flags & kReject) == 0) peer.expect_alive();
              });
  family.must("private-data-509", "5044-7.1.1-h 6581-6-e",
              "an enhanced Request with 509 bytes after the word, 513 in all", "the responder closes the connection",
              [](Peer& peer) {
                Request request = enhanced_request({});
                request.private_data = pattern(509, 3);
                peer.send(encode(request));
                peer.expect_refused();
              });
}

void add_depths(IwarpFamily& family) {
  for (const unsigned ird : {0u, 1u, 2u, 100u})
    family.must(fmt::format("ird-{}", ird), "6581-9.1-b", fmt::format("an enhanced Request with IRD {}", ird),
                "the ORD of the Reply is not larger than this IRD", [ird](Peer& peer) {
                  Enhanced word;
                  word.ird = static_cast<std::uint16_t>(ird);
                  const Reply reply = start(peer, word, true);
                  Record::expect(reply.enhanced->ord <= ird, fmt::format("ORD {}", reply.enhanced->ord));
                  peer.expect_alive();
                });
  family.must("ird-not-negotiated", "6581-9.1-i", "an enhanced Request with IRD 0x3FFF", "ORD 0x3FFF in the Reply",
              [](Peer& peer) {
                Enhanced word;
                word.ird = kNotNegotiated;
                const Reply reply = start(peer, word, true);
                Record::expect(reply.enhanced->ord == kNotNegotiated, fmt::format("ORD {}", reply.enhanced->ord));
              });
  family.must("ord-not-negotiated", "6581-9.1-h", "an enhanced Request with ORD 0x3FFF", "IRD 0x3FFF in the Reply",
              [](Peer& peer) {
                Enhanced word;
                word.ord = kNotNegotiated;
                const Reply reply = start(peer, word, true);
                Record::expect(reply.enhanced->ird == kNotNegotiated, fmt::format("IRD {}", reply.enhanced->ird));
              });
  family.must("reads-of-the-granted-depth", "5040-5.2.2-b 6581-9.1-f",
              "as many Read Requests of zero bytes as the IRD of the Reply allows, at once",
              "all of them are answered, in order", [](Peer& peer) {
                const Reply reply = start(peer, {});
                const std::uint16_t depth = reply.enhanced->ird;
                if (depth == 0 || depth == kNotNegotiated) Record::skip("the Reply grants no Reads");
                Bytes burst;
                for (std::uint32_t i = 1; i <= depth; ++i) {
                  Untagged header;
                  header.opcode = kReadRequest;
                  header.queue = kReadQueue;
                  header.msn = i;
                  const Bytes one = fpdu(encode(header, encode(ReadRequest{i, 0, 0, 0, 0})));
                  burst.insert(burst.end(), one.begin(), one.end());
                }
                peer.send(burst);
                for (std::uint32_t i = 1; i <= depth; ++i) {
                  const Segment answer = peer.expect(kReadResponse);
                  Record::expect(answer.stag == i, fmt::format("the response to {} came as number {}", answer.stag, i));
                }
                peer.expect_alive();
              });
}

ReadRequest decode_read_request(View payload) {
  In in(payload);
  return {in.u32(), in.u64(), in.u32(), in.u32(), in.u64()};
}

/// Checks that the responder never has more than `ird` Read Requests outstanding. Sends a long NULL call in segments of
/// four bytes. Each segment has its own handle, so that the responder must read each one separately. The test answers
/// no Read Request until no more of them arrive, and then answers them one by one.
void reads_within(Peer& peer, std::uint16_t ird) {
  constexpr std::uint32_t kFirstHandle = 0x0C0F0000, kSize = 4;
  Enhanced word;
  word.ird = ird;
  const Reply reply = start(peer, word, true);
  if (reply.enhanced->ord == 0) Record::skip("the responder sends no Reads");
  const Bytes call = peer.null_call();
  const View message = View(call).subspan(kFixedHeader);
  RdmaHeader header;
  header.xid = In(call).u32();
  header.procedure = kNomsg;
  for (std::uint32_t i = 0; i < message.size() / kSize; ++i)
    header.lists.reads.push_back({0, {kFirstHandle + i, kSize, 0}});
  Untagged send;
  send.msn = peer.next_msn();
  peer.segment(send, conform::encode(header));

  std::deque<ReadRequest> unanswered;
  const auto receive = [&] {
    unanswered.push_back(decode_read_request(peer.expect(kReadRequest).payload()));
    Record::expect(unanswered.size() <= ird, fmt::format("{} Read Requests at a time", unanswered.size()));
  };
  receive();
  while (peer.speaks_soon()) receive();
  for (std::size_t read = 0; read < message.size();) {
    if (unanswered.empty()) receive();
    const ReadRequest request = unanswered.front();
    unanswered.pop_front();
    const std::uint32_t index = request.source - kFirstHandle;
    Record::expect(index < header.lists.reads.size() && request.source_offset <= kSize && request.size != 0 &&
                       request.size <= kSize - request.source_offset,
                   fmt::format("a Read of {} bytes at {:#x} of handle {:#x}, which the call does not offer",
                               request.size, request.source_offset, request.source));
    Tagged response;
    response.opcode = kReadResponse;
    response.stag = request.sink;
    response.offset = request.sink_offset;
    peer.segment(response, message.subspan(index * kSize + request.source_offset, request.size));
    read += request.size;
  }
  peer.expect_answer();
}

void add_outstanding(IwarpFamily& family) {
  for (const std::uint16_t ird : {std::uint16_t{1}, std::uint16_t{4}})
    family.must(fmt::format("reads-within-ird-{}", ird), "5040-6.1-b 6581-9.1-b",
                fmt::format("an enhanced Request with IRD {}, then a long call in 10 segments; Read Requests are not "
                            "answered while more arrive",
                            ird),
                fmt::format("{} Read Requests at most are unanswered at a time; the call is answered", ird),
                [ird](Peer& peer) { reads_within(peer, ird); });
}

struct Kind {
  const char* name;
  bool Enhanced::*bit;
  Bytes (*ready)(Peer& peer);
};

Bytes ready_send(Peer& peer) {
  Untagged header;
  header.msn = peer.next_msn();
  return encode(header, {});
}
Bytes ready_write(Peer&) { return encode(Tagged{}, {}); }
Bytes ready_read(Peer&) {
  Untagged header;
  header.opcode = kReadRequest;
  header.queue = kReadQueue;
  return encode(header, encode(ReadRequest{}));
}

void add_ready(IwarpFamily& family) {
  static constexpr Kind kKinds[] = {{"send", &Enhanced::send, ready_send},
                                    {"write", &Enhanced::write, ready_write},
                                    {"read", &Enhanced::read, ready_read}};
  for (const Kind& kind : kKinds) {
    family.must(std::string("peer-to-peer-") + kind.name, "6581-9.2-c 6581-9.2-e",
                fmt::format("a Request with A=1 that offers a {} of zero bytes", kind.name),
                "a Reply with A=1 that names at least one kind of message", [kind](Peer& peer) {
                  Enhanced word;
                  word.peer_to_peer = word.*kind.bit = true;
                  const Enhanced answer = *start(peer, word).enhanced;
                  Record::expect(answer.peer_to_peer, "A=0");
                  Record::expect(answer.send || answer.write || answer.read, "no kind of message");
                });
    family.must(
        std::string("ready-by-") + kind.name, "6581-9.2-d 5040-5.1-c",
        fmt::format(
            "a Request with A=1 that offers all kinds of RTR; a {} of zero bytes, if the Reply names it; a call",
            kind.name),
        "the call is answered", [kind](Peer& peer) {
          const Enhanced answer = *start(peer, {true, true, true, true, 16, 16}).enhanced;
          if (!(answer.*kind.bit)) Record::skip("the Reply does not name this kind of message");
          peer.send(fpdu(kind.ready(peer)));
          if (kind.bit == &Enhanced::read) {
            const Segment response = peer.expect(kReadResponse);
            Record::expect(response.payload().empty() && response.last, "not an empty Read Response");
          }
          peer.expect_alive();
        });
  }
  family.must("peer-to-peer-without-kind", "6581-9.2-c 6581-9.2-e", "a Request with A=1 that offers no kind of message",
              "a Reply with A=1 that names a kind, or a rejection", [](Peer& peer) {
                Enhanced word;
                word.peer_to_peer = true;
                const Enhanced answer = *start(peer, word, true).enhanced;
                Record::expect(answer.peer_to_peer && (answer.send || answer.write || answer.read),
                               fmt::format("the word {:#010x}", encode(answer)));
              });
  family.must("client-server", "6581-9.2-c 6581-9.2-h", "a Request with A=0, and B, C and D set",
              "a Reply with A=0; the call is answered", [](Peer& peer) {
                const Enhanced answer = *start(peer, {false, true, true, true, 16, 16}).enhanced;
                Record::expect(!answer.peer_to_peer, "A=1");
                peer.expect_alive();
              });
}

}  // namespace

void add_enhanced(const MakeFamily& make) {
  auto family = make("enhanced");
  add_enhanced_replies(family);
  add_depths(family);
  add_outstanding(family);
  add_ready(family);
}

}  // namespace rpcrdma::conform::iwarp
