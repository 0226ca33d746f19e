// SPDX-License-Identifier: BSD-3-Clause
#include "wire/mpa_startup.hpp"

#include <algorithm>
#include <string_view>

namespace rpcrdma::fabric::iwarp {
namespace {

// [5044-7.1.1-a] the keys, byte for byte
constexpr std::string_view kRequestKey = "MPA ID Req Frame";
constexpr std::string_view kReplyKey = "MPA ID Rep Frame";
constexpr std::size_t kKeySize = 16;

constexpr std::uint8_t kMarkersFlag = 0x80;
constexpr std::uint8_t kCrcFlag = 0x40;
constexpr std::uint8_t kRejectFlag = 0x20;
constexpr std::uint8_t kEnhancedFlag = 0x10;

constexpr std::uint16_t kPeerToPeer = 0x8000;  // flag A, above the 14 bits of the IRD
constexpr std::uint16_t kSendRtr = 0x4000;     // flag B
constexpr std::uint16_t kWriteRtr = 0x8000;    // flag C, above the 14 bits of the ORD
constexpr std::uint16_t kReadRtr = 0x4000;     // flag D
constexpr std::uint16_t kDepthMask = 0x3fff;

Octets key_of(StartupFrame::Kind kind) noexcept {
  const std::string_view key = kind == StartupFrame::Kind::request ? kRequestKey : kReplyKey;
  return std::as_bytes(std::span(key.data(), key.size()));
}

// [6581-9-a] IRD and ORD, each of 14 bits after two flags
void encode(const EnhancedData& data, Writer& out) noexcept {
  out.u16(static_cast<std::uint16_t>((data.peer_to_peer ? kPeerToPeer : 0) | (data.send_rtr ? kSendRtr : 0) |
                                     (data.inbound & kDepthMask)));
  out.u16(static_cast<std::uint16_t>((data.write_rtr ? kWriteRtr : 0) | (data.read_rtr ? kReadRtr : 0) |
                                     (data.outbound & kDepthMask)));
}

EnhancedData decode_enhanced(Reader& in) noexcept {
  const std::uint16_t first = in.u16();
  const std::uint16_t second = in.u16();
  EnhancedData out;
  out.peer_to_peer = (first & kPeerToPeer) != 0;
  out.send_rtr = (first & kSendRtr) != 0;
  out.write_rtr = (second & kWriteRtr) != 0;
  out.read_rtr = (second & kReadRtr) != 0;
  out.inbound = first & kDepthMask;
  out.outbound = second & kDepthMask;
  return out;
}

}  // namespace

std::vector<std::byte> encode(const StartupFrame& frame) {
  const std::size_t data = (frame.enhanced ? kEnhancedDataSize : 0) + frame.private_data.size();
  std::vector<std::byte> octets(kStartupHeaderSize + data);
  Writer out(octets);
  out.octets(key_of(frame.kind));
  out.u8(static_cast<std::uint8_t>((frame.markers ? kMarkersFlag : 0) | (frame.crc ? kCrcFlag : 0) |
                                   (frame.rejected ? kRejectFlag : 0) | (frame.enhanced ? kEnhancedFlag : 0)));
  out.u8(frame.revision);
  // [6581-6-e] the length includes the enhanced data
  out.u16(static_cast<std::uint16_t>(data));
  if (frame.enhanced) encode(*frame.enhanced, out);
  out.octets(frame.private_data);  // [5044-7.1.2-b] the private data of the ULP
  return octets;
}

StartupError decode_startup_header(Octets octets, StartupFrame::Kind expected, StartupFrame& frame,
                                   std::size_t& private_length, bool& enhanced) noexcept {
  Reader in(octets);
  const Octets key = in.octets(kKeySize);
  const Octets wanted = key_of(expected);
  // [5044-7.1.1-b] [5044-7.1.2-i] refuses a wrong key, such as the key of the frame that this side sends
  if (!std::equal(key.begin(), key.end(), wanted.begin(), wanted.end())) return StartupError::key;
  const std::uint8_t flags = in.u8();  // [5044-7.1.1-f] the reserved bits are ignored
  frame.kind = expected;
  frame.markers = (flags & kMarkersFlag) != 0;
  frame.crc = (flags & kCrcFlag) != 0;
  // [5044-7.1.1-e] R is ignored in a Request
  frame.rejected = expected == StartupFrame::Kind::reply && (flags & kRejectFlag) != 0;
  frame.revision = in.u8();
  private_length = in.u16();
  // [6581-6-a] S is a reserved bit of revision 1
  enhanced = frame.revision >= kRevision2 && (flags & kEnhancedFlag) != 0;
  // [5044-7.1.1-h] [5044-7.1.2-k] at most 512 bytes of private data
  if (!in.ok() || private_length > kMaxPrivateData) return StartupError::private_data_length;
  // [6581-6-d] the enhanced data precedes the private data
  if (enhanced && private_length < kEnhancedDataSize) return StartupError::enhanced_data;
  return StartupError::none;
}

StartupError decode_startup_data(Octets octets, bool enhanced, StartupFrame& frame) {
  Reader in(octets);
  frame.enhanced.reset();
  if (enhanced) frame.enhanced = decode_enhanced(in);
  if (!in.ok()) return StartupError::enhanced_data;
  frame.private_data.assign(in.rest().begin(), in.rest().end());
  return StartupError::none;
}

StartupError decode(Octets octets, StartupFrame::Kind expected, StartupFrame& frame) {
  std::size_t private_length = 0;
  bool enhanced = false;
  const StartupError error = decode_startup_header(octets, expected, frame, private_length, enhanced);
  if (error != StartupError::none) return error;
  if (octets.size() != kStartupHeaderSize + private_length) return StartupError::private_data_length;
  return decode_startup_data(octets.subspan(kStartupHeaderSize), enhanced, frame);
}

}  // namespace rpcrdma::fabric::iwarp
