// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Frames of MPA (RFC 5044, RFC 6581) and headers of DDP (RFC 5041) and RDMAP (RFC 5040). The encoders check
// nothing, so that cases can break every rule.
#include <optional>

#include "rpcrdma/conform/codec/words.hpp"

namespace rpcrdma::conform::iwarp {

inline constexpr std::uint8_t kMarkers = 0x80, kCrc = 0x40, kReject = 0x20, kEnhanced = 0x10;
inline constexpr std::string_view kRequestKey = "MPA ID Req Frame", kReplyKey = "MPA ID Rep Frame";
inline constexpr std::size_t kStartUpSize = 20, kTaggedSize = 14, kUntaggedSize = 18;
enum Opcode : std::uint8_t {
  kWrite,
  kReadRequest,
  kReadResponse,
  kSend,
  kSendInvalidate,
  kSendSe,
  kSendSeInvalidate,
  kTerminate
};
enum Queue : std::uint32_t { kSendQueue, kReadQueue, kTerminateQueue };

/// The word of an enhanced Request or Reply that contains the IRD, the ORD and the flags A to D (RFC 6581 section 9).
struct Enhanced {
  bool peer_to_peer = false;                       ///< flag A
  bool send = false, write = false, read = false;  ///< flags B, C and D: kinds of RTR
  std::uint16_t ird = 16, ord = 16;
};
inline constexpr std::uint16_t kNotNegotiated = 0x3FFF;

std::uint32_t encode(const Enhanced& word) noexcept;
Enhanced decode_enhanced(std::uint32_t word) noexcept;

/// An MPA Request. The word `enhanced`, if it is set, precedes the private data. The caller sets `flags` to match.
struct Request {
  std::string key{kRequestKey};
  std::uint8_t flags = kCrc;
  std::uint8_t revision = 1;
  std::optional<Enhanced> enhanced;
  Bytes private_data;
  std::optional<std::uint16_t> length;  ///< if set, encoded instead of the true length of the private data
};

Bytes encode(const Request& request);
/// A Request of revision 2 with this word.
Request enhanced_request(const Enhanced& word);

/// CRC32c (RFC 5044 section 4.4).
std::uint32_t crc32c(View bytes) noexcept;

/// Deliberate errors in an FPDU.
struct Damage {
  std::uint32_t crc = 0;  ///< XORed with the CRC
  std::uint8_t pad = 0;   ///< value of the pad bytes
};
Bytes fpdu(View ulpdu, const Damage& damage = {});

/// The header of an untagged segment.
struct Untagged {
  std::uint8_t opcode = kSend;
  std::uint32_t queue = kSendQueue, msn = 1, offset = 0;
  bool last = true;
  std::uint32_t invalidate = 0;
  std::uint8_t ddp_version = 1, rdmap_version = 1, ddp_reserved = 0, rdmap_reserved = 0;
};
Bytes encode(const Untagged& header, View payload);

struct Tagged {
  std::uint8_t opcode = kWrite;
  std::uint32_t stag = 0;
  std::uint64_t offset = 0;
  bool last = true;
  std::uint8_t ddp_version = 1, rdmap_version = 1, ddp_reserved = 0;
};
Bytes encode(const Tagged& header, View payload);

/// The header of an RDMA Read Request.
struct ReadRequest {
  std::uint32_t sink = 0x5117;
  std::uint64_t sink_offset = 0;
  std::uint32_t size = 0;
  std::uint32_t source = 0;
  std::uint64_t source_offset = 0;
};
Bytes encode(const ReadRequest& request);

/// Layer, error type and error code of a Terminate (RFC 5040 section 4.8).
struct TerminateCode {
  unsigned layer = 0, type = 0, code = 0;
  friend bool operator==(const TerminateCode&, const TerminateCode&) = default;
};
std::string describe(const TerminateCode& code);
Bytes encode_terminate(const TerminateCode& code, std::uint16_t bits = 0);

/// A received DDP segment.
struct Segment {
  Bytes ulpdu;
  bool tagged = false, last = false;
  std::uint8_t opcode = 0;
  std::uint32_t stag = 0;    ///< tagged: STag; untagged: Invalidate STag
  std::uint64_t offset = 0;  ///< tagged offset, or message offset
  std::uint32_t queue = 0, msn = 0;
  View payload() const noexcept { return View(ulpdu).subspan(tagged ? kTaggedSize : kUntaggedSize); }
};
/// Throws DecodeError if the segment is too short, or if a reserved bit, a version or the Invalidate STag is wrong.
Segment decode_segment(Bytes ulpdu);
std::string describe(const Segment& segment);

}  // namespace rpcrdma::conform::iwarp
