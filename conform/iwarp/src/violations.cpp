// SPDX-License-Identifier: BSD-3-Clause
// Segments that break a rule of DDP or RDMAP. Each makes up to three cases. "violation": the connection ends and
// nothing is delivered. "terminate": the Terminate names the error. "headers": the Terminate contains the headers of
// the segment. To add a segment, add a line to one of the functions that return a list.
#include <fmt/format.h>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

using Codes = std::vector<TerminateCode>;
constexpr unsigned kRdmap = 0, kDdp = 1;

struct Violation {
  const char* name;
  const char* rules;
  const char* sends;
  Codes codes;  ///< permitted codes of the Terminate; empty: no RFC specifies them
  /// Returns the ULPDUs that the tester sends, of which the last one breaks the rule. Before that, the tester has made
  /// a call on the connection, and the peer has answered it. `msn` is the MSN of the next Send after this call.
  std::function<std::vector<Bytes>(Peer& peer, std::uint32_t msn)> make;
  Level level = Level::must;
};

/// Returns a Violation that sends one untagged segment with a NULL call as payload. `spoil` gets the header of the
/// segment, with the correct MSN, and changes it so that it breaks a rule.
Violation untagged(const char* name, const char* rules, const char* sends, Codes codes,
                   std::function<void(Untagged& header)> spoil) {
  return {name, rules, sends, std::move(codes), [spoil = std::move(spoil)](Peer& peer, std::uint32_t msn) {
            Untagged header;
            header.msn = msn;
            spoil(header);
            return std::vector<Bytes>{encode(header, peer.null_call())};
          }};
}

Violation tagged(const char* name, const char* rules, const char* sends, Codes codes, const Tagged& header) {
  return {name, rules, sends, std::move(codes),
          [header](Peer&, std::uint32_t) { return std::vector<Bytes>{encode(header, pattern(8, 4))}; }};
}

/// A call in two segments, of which the second one is at the wrong offset.
Violation second_at(const char* name, const char* sends, std::uint32_t offset, Codes codes, Level level) {
  return {name,
          "5041-7.1-a 5041-5.4-a",
          sends,
          std::move(codes),
          [offset](Peer& peer, std::uint32_t msn) {
            const Bytes call = peer.null_call();
            Untagged header;
            header.msn = msn;
            header.last = false;
            std::vector<Bytes> out{encode(header, View(call).first(16))};
            header.last = true;
            header.offset = offset;
            out.push_back(encode(header, View(call).subspan(16)));
            return out;
          },
          level};
}

Violation read(const char* name, const char* rules, const char* sends, Codes codes, const ReadRequest& request) {
  return {name, rules, sends, std::move(codes), [request](Peer&, std::uint32_t) {
            Untagged header;
            header.opcode = kReadRequest;
            header.queue = kReadQueue;
            return std::vector<Bytes>{encode(header, encode(request))};
          }};
}

std::vector<Violation> of_queues() {
  const Codes kQueue{{kDdp, 2, 1}}, kMsn{{kDdp, 2, 3}, {kDdp, 2, 2}};
  const char* rules = "5041-7.1-a";
  return {
      untagged("queue-3", rules, "a Send on queue 3", kQueue,
               [](Untagged& header) {
                 header.queue = 3;
                 header.msn = 1;
               }),
      untagged("queue-max", rules, "a Send on queue 0xFFFFFFFF", kQueue,
               [](Untagged& header) {
                 header.queue = ~0u;
                 header.msn = 1;
               }),
      untagged("msn-gap", rules, "a Send whose MSN is one too high", kMsn, [](Untagged& header) { ++header.msn; }),
      untagged("msn-far", rules, "a Send whose MSN is 0x10000000 too high", kMsn,
               [](Untagged& header) { header.msn += 0x10000000; }),
      untagged("msn-repeated", rules, "a Send with the MSN of the previous Send", kMsn,
               [](Untagged& header) { --header.msn; }),
      untagged("msn-0", rules, "a Send with MSN 0", kMsn, [](Untagged& header) { header.msn = 0; }),
  };
}

std::vector<Violation> of_offsets() {
  const Codes kOffset{{kDdp, 2, 4}}, kBeyond{{kDdp, 2, 4}, {kDdp, 2, 5}};
  return {
      untagged("offset-of-the-first", "5041-7.1-a 5041-4.3-c", "a Send that begins at message offset 4", kOffset,
               [](Untagged& header) { header.offset = 4; }),
      second_at("offset-gap", "a call in two segments that leave a gap of 4 bytes", 20, kOffset, Level::must),
      second_at("offset-overlap", "a call in two segments that overlap by 8 bytes", 8, kOffset, Level::robustness),
      second_at("offset-repeated", "a call whose second segment is at offset 0", 0, kOffset, Level::robustness),
      second_at("offset-far", "a call whose second segment is at offset 0x7FFFFFF0", 0x7FFFFFF0, kBeyond, Level::must),
      second_at("offset-wrap", "a call whose second segment is at offset 0xFFFFFFF0", 0xFFFFFFF0, kBeyond, Level::must),
      {"too-long",
       "5041-7.1-a 5040-5.3-c",
       "a Send of 64000 bytes, or of several times as much if the peer announces larger Receives",
       {{kDdp, 2, 5}},
       [](Peer& peer, std::uint32_t msn) {
         constexpr std::uint32_t kPart = 64000;
         std::vector<Bytes> out;
         Untagged header;
         header.msn = msn;
         for (header.last = false; !header.last; header.offset += kPart) {
           header.last = header.offset + kPart > peer.size_of_receives();
           out.push_back(encode(header, Bytes(kPart)));
         }
         return out;
       }},
  };
}

std::vector<Violation> of_tagged() {
  const Codes kStag{{kDdp, 1, 0}}, kAny{{kDdp, 1, 0}, {kDdp, 1, 1}, {kDdp, 1, 3}};
  const char* rules = "5041-7.1-b";
  const auto write = [](std::uint32_t stag, std::uint64_t offset) {
    Tagged header;
    header.stag = stag;
    header.offset = offset;
    return header;
  };
  Tagged response = write(0x1234, 0);
  response.opcode = kReadResponse;
  return {
      tagged("write-unknown-stag", rules, "a Write to a STag that does not exist", kStag, write(0xDEADBEEF, 0)),
      tagged("write-stag-0", rules, "a Write to STag 0", kStag, write(0, 0)),
      tagged("write-stag-max", rules, "a Write to STag 0xFFFFFFFF", kStag, write(~0u, 0x1000)),
      tagged("write-wrap", rules, "a Write to an unknown STag that wraps at 2^64", kAny,
             write(0xDEADBEEF, ~std::uint64_t{3})),
      tagged("response-unasked", "5041-7.1-b 5040-5.2.2-c", "a Read Response that no Read Request has asked for",
             {{kDdp, 1, 0}, {kDdp, 1, 1}, {kRdmap, 2, 6}}, response),
  };
}

std::vector<Violation> of_versions() {
  std::vector<Violation> out;
  static constexpr const char* kNames[][3] = {{"untagged-ddp-version-0", "tagged-ddp-version-0", "rdmap-version-0"},
                                              {},
                                              {"untagged-ddp-version-2", "tagged-ddp-version-2", "rdmap-version-2"},
                                              {"untagged-ddp-version-3", "tagged-ddp-version-3", "rdmap-version-3"}};
  for (const std::uint8_t version : {std::uint8_t{0}, std::uint8_t{2}, std::uint8_t{3}}) {
    Tagged header;
    header.stag = 1;
    header.ddp_version = version;
    out.push_back(untagged(kNames[version][0], "5041-4.1-f",
                           "a Send with the DDP version that the id of the case names", {{kDdp, 2, 6}},
                           [version](Untagged& one) { one.ddp_version = version; }));
    out.push_back(tagged(kNames[version][1], "5041-4.1-f", "a Write with the DDP version that the id of the case names",
                         {{kDdp, 1, 4}}, header));
    out.push_back(untagged(kNames[version][2], "5040-7.2-a 5040-4.1-a",
                           "a Send with the RDMAP version that the id of the case names", {{kRdmap, 2, 5}},
                           [version](Untagged& one) { one.rdmap_version = version; }));
  }
  return out;
}

std::vector<Violation> of_opcodes() {
  const Codes kOpcode{{kRdmap, 2, 6}}, kOnQueue{{kRdmap, 2, 6}, {kDdp, 2, 1}};
  const char* rules = "5040-7.2-a 5040-4.1-b";
  const auto of = [](std::uint8_t opcode) {
    Tagged header;
    header.opcode = opcode;
    header.stag = 1;
    return header;
  };
  const auto on = [&](const char* name, const char* sends, std::uint8_t opcode, std::uint32_t queue) {
    return untagged(name, rules, sends, kOnQueue, [opcode, queue](Untagged& header) {
      header.opcode = opcode;
      header.queue = queue;
      if (queue != kSendQueue) header.msn = 1;
    });
  };
  const auto opcode = [&](const char* name, const char* sends, std::uint8_t value) {
    return untagged(name, rules, sends, kOpcode, [value](Untagged& header) { header.opcode = value; });
  };
  return {
      opcode("opcode-8", "an untagged message with opcode 8", 8),
      opcode("opcode-12", "an untagged message with opcode 12", 12),
      opcode("opcode-15", "an untagged message with opcode 15", 15),
      tagged("tagged-opcode-9", rules, "a tagged message with opcode 9", kOpcode, of(9)),
      opcode("untagged-write", "an untagged Write", kWrite),
      opcode("untagged-response", "an untagged Read Response", kReadResponse),
      tagged("tagged-send", rules, "a tagged Send", kOpcode, of(kSend)),
      tagged("tagged-read-request", rules, "a tagged Read Request", kOpcode, of(kReadRequest)),
      tagged("tagged-terminate", rules, "a tagged Terminate", kOpcode, of(kTerminate)),
      on("send-on-queue-1", "a Send on the queue of Read Requests", kSend, kReadQueue),
      on("send-on-queue-2", "a Send on the queue of Terminates", kSend, kTerminateQueue),
      on("read-request-on-queue-0", "a Read Request on the queue of Sends", kReadRequest, kSendQueue),
      on("terminate-on-queue-0", "a Terminate on the queue of Sends", kTerminate, kSendQueue),
  };
}

std::vector<Violation> of_access() {
  const Codes kInvalidate{{kRdmap, 2, 9}, {kRdmap, 1, 9}, {kRdmap, 1, 0}};
  const Codes kStag{{kRdmap, 1, 0}}, kAny{{kRdmap, 1, 0}, {kRdmap, 1, 1}, {kRdmap, 1, 4}};
  const char* rules = "5040-7.2-c 5040-5.2.1-d";
  const auto invalidating = [](std::uint8_t opcode) {
    return [opcode](Untagged& header) {
      header.opcode = opcode;
      header.invalidate = 0xDEADBEEF;
    };
  };
  return {
      read("read-unknown-stag", rules, "a Read Request for a STag that does not exist", kStag,
           {0x5117, 0, 4096, 0xDEADBEEF, 0}),
      read("read-stag-0", rules, "a Read Request for STag 0", kStag, {0x5117, 0, 1, 0, 0}),
      read("read-all-memory", rules, "a Read Request for 4 GiB less a byte", kStag, {0x5117, 0, ~0u, 0xDEADBEEF, 0}),
      read("read-wrap", rules, "a Read Request that wraps at 2^64", kAny,
           {0x5117, 0, 4096, 0xDEADBEEF, ~std::uint64_t{15}}),
      untagged("invalidate-unknown-stag", "5040-7.2-b 5040-5.3-e",
               "a call by Send with Invalidate of a STag that does not exist", kInvalidate,
               invalidating(kSendInvalidate)),
      untagged("invalidate-se-unknown-stag", "5040-7.2-b 5040-5.3-e",
               "a call by Send with SE and Invalidate of a STag that does not exist", kInvalidate,
               invalidating(kSendSeInvalidate)),
      {"read-request-short",
       "5040-4.4-a",
       "a Read Request whose header lacks its last byte",
       {},
       [](Peer&, std::uint32_t) {
         Untagged header;
         header.opcode = kReadRequest;
         header.queue = kReadQueue;
         const Bytes request = encode(ReadRequest{});
         return std::vector<Bytes>{encode(header, View(request).first(27))};
       },
       Level::robustness},
  };
}

std::vector<Violation> all_violations() {
  std::vector<Violation> out;
  for (const auto& list : {of_queues(), of_offsets(), of_tagged(), of_versions(), of_opcodes(), of_access()})
    out.insert(out.end(), list.begin(), list.end());
  return out;
}

/// Starts the connection, makes a call that the peer must answer, and then sends the segments of the violation. Returns
/// the ULPDU of the last segment, which breaks the rule.
Bytes commit(Peer& peer, const Violation& violation) {
  peer.start();
  peer.expect_alive();
  const std::vector<Bytes> ulpdus = violation.make(peer, peer.next_msn());
  Bytes stream;
  for (const Bytes& ulpdu : ulpdus) {
    const Bytes one = fpdu(ulpdu);
    stream.insert(stream.end(), one.begin(), one.end());
  }
  peer.send(stream);
  return ulpdus.back();
}

/// [5040-4.8-b] [5040-4.8-c] The Terminate must contain the length and the DDP header of the segment that broke the
/// rule and, if the Terminate says so, the RDMAP header.
void check_headers(const Segment& terminate, const Bytes& offender) {
  const View payload = terminate.payload();
  In in(payload);
  const std::uint32_t first = in.u32();
  const bool has_length = (first & 0x8000) != 0, has_ddp = (first & 0x4000) != 0, has_rdmap = (first & 0x2000) != 0;
  Record::expect((first & 0x1FFF) == 0, "reserved bits are not zero: " + hex(payload));
  Record::expect(has_length && has_ddp, "the Terminate contains no DDP header: " + hex(payload));
  const View length = in.raw(2);
  const std::size_t size = std::to_integer<std::size_t>(length[0]) << 8 | std::to_integer<std::size_t>(length[1]);
  Record::expect(size == offender.size(), fmt::format("segment length {}, the segment has {}", size, offender.size()));
  const bool is_tagged = (offender[0] & std::byte{0x80}) != std::byte{0};
  std::size_t expected = is_tagged ? kTaggedSize : kUntaggedSize;
  if (has_rdmap) expected += 28;
  const View copied = in.raw(std::min(in.left(), expected));
  Record::expect(copied.size() == expected && expected <= offender.size() &&
                     std::equal(copied.begin(), copied.end(), offender.begin()),
                 "the headers are not those of the segment: " + hex(payload));
}

}  // namespace

void add_violations(const MakeFamily& make) {
  auto ends = make("violation"), names = make("terminate"), headers = make("headers");
  const auto violations = all_violations();
  for (const Violation& violation : violations)
    ends.add(violation.level, violation.name, std::string(violation.rules) + " 5041-7.1-c 5040-7-a", violation.sends,
             "nothing is delivered; the connection ends", [violation](Peer& peer) {
               commit(peer, violation);
               peer.expect_end();
             });
  for (const Violation& violation : violations) {
    if (violation.codes.empty()) continue;
    std::string codes;
    for (const TerminateCode& code : violation.codes) codes += (codes.empty() ? "" : " or ") + describe(code);
    names.add(violation.level, violation.name, "5040-7.1-b 5041-7.2-a 5040-4.8-a", violation.sends,
              "Terminate " + codes, [violation](Peer& peer) {
                commit(peer, violation);
                peer.expect_terminate(violation.codes);
              });
  }
  for (const char* name :
       {"queue-3", "msn-gap", "offset-of-the-first", "too-long", "write-unknown-stag", "tagged-ddp-version-2",
        "rdmap-version-2", "opcode-8", "tagged-send", "read-unknown-stag", "invalidate-unknown-stag"})
    for (const Violation& violation : violations)
      if (name == std::string_view(violation.name))
        headers.should(name, "5040-4.8-d 5040-4.8-c 5041-7.1-d", violation.sends,
                       "the Terminate contains length and headers of the segment", [violation](Peer& peer) {
                         const Bytes offender = commit(peer, violation);
                         check_headers(peer.expect_terminate(violation.codes), offender);
                       });
}

}  // namespace rpcrdma::conform::iwarp
