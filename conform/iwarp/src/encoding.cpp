// SPDX-License-Identifier: BSD-3-Clause
#include "encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rpcrdma::conform::iwarp {
namespace {

std::byte byte_of(unsigned value) noexcept { return static_cast<std::byte>(value & 0xFF); }

void put(Bytes& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out.push_back(byte_of(static_cast<unsigned>(value >> shift)));
}

void append(Bytes& out, View bytes) { std::copy(bytes.begin(), bytes.end(), std::back_inserter(out)); }

unsigned control(bool tagged, bool last, unsigned reserved, unsigned version) noexcept {
  return (tagged ? 0x80u : 0u) | (last ? 0x40u : 0u) | reserved << 2 | version;
}

}  // namespace

std::uint32_t encode(const Enhanced& word) noexcept {
  return (word.peer_to_peer ? 0x80000000u : 0) | (word.send ? 0x40000000u : 0) | (word.ird & 0x3FFFu) << 16 |
         (word.write ? 0x8000u : 0) | (word.read ? 0x4000u : 0) | (word.ord & 0x3FFFu);
}

Enhanced decode_enhanced(std::uint32_t word) noexcept {
  return {(word & 0x80000000) != 0,
          (word & 0x40000000) != 0,
          (word & 0x8000) != 0,
          (word & 0x4000) != 0,
          static_cast<std::uint16_t>(word >> 16 & 0x3FFF),
          static_cast<std::uint16_t>(word & 0x3FFF)};
}

Bytes encode(const Request& request) {
  Bytes out;
  append(out, view_of(request.key));
  Bytes data;
  if (request.enhanced) put(data, encode(*request.enhanced), 4);
  append(data, request.private_data);
  put(out, request.flags, 1);
  put(out, request.revision, 1);
  put(out, request.length.value_or(static_cast<std::uint16_t>(data.size())), 2);
  append(out, data);
  return out;
}

Request enhanced_request(const Enhanced& word) {
  Request request;
  request.flags = kCrc | kEnhanced;
  request.revision = 2;
  request.enhanced = word;
  return request;
}

std::uint32_t crc32c(View bytes) noexcept {
  std::uint32_t value = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    value ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0x82F63B78 : value >> 1;
  }
  return ~value;
}

Bytes fpdu(View ulpdu, const Damage& damage) {
  Bytes out;
  out.reserve(ulpdu.size() + 9);  // length, pad and CRC
  put(out, ulpdu.size(), 2);
  append(out, ulpdu);
  while (out.size() % 4 != 0) out.push_back(byte_of(damage.pad));
  const std::uint32_t crc = crc32c(out) ^ damage.crc;
  for (int shift = 0; shift < 32; shift += 8) out.push_back(byte_of(crc >> shift));
  return out;
}

Bytes encode(const Untagged& header, View payload) {
  Bytes out;
  put(out, control(false, header.last, header.ddp_reserved, header.ddp_version), 1);
  put(out, unsigned{header.rdmap_version} << 6 | unsigned{header.rdmap_reserved} << 4 | header.opcode, 1);
  for (const std::uint32_t word : {header.invalidate, header.queue, header.msn, header.offset}) put(out, word, 4);
  append(out, payload);
  return out;
}

Bytes encode(const Tagged& header, View payload) {
  Bytes out;
  put(out, control(true, header.last, header.ddp_reserved, header.ddp_version), 1);
  put(out, unsigned{header.rdmap_version} << 6 | header.opcode, 1);
  put(out, header.stag, 4);
  put(out, header.offset, 8);
  append(out, payload);
  return out;
}

Bytes encode(const ReadRequest& request) {
  return Out()
      .u32(request.sink)
      .u64(request.sink_offset)
      .u32(request.size)
      .u32(request.source)
      .u64(request.source_offset)
      .bytes();
}

std::string describe(const TerminateCode& code) {
  return fmt::format("{}/{}/{:02x}", code.layer, code.type, code.code);
}

Bytes encode_terminate(const TerminateCode& code, std::uint16_t bits) {
  Bytes out;
  put(out, code.layer << 4 | code.type, 1);
  put(out, code.code, 1);
  put(out, bits, 2);
  return out;
}

Segment decode_segment(Bytes ulpdu) {
  if (ulpdu.size() < 2) throw DecodeError("a segment without DDP header: " + hex(ulpdu));
  Segment segment;
  const auto first = std::to_integer<unsigned>(ulpdu[0]), second = std::to_integer<unsigned>(ulpdu[1]);
  segment.tagged = (first & 0x80) != 0;
  segment.last = (first & 0x40) != 0;
  segment.opcode = static_cast<std::uint8_t>(second & 0x0F);
  segment.ulpdu = std::move(ulpdu);
  const std::string shown = hex(segment.ulpdu, kUntaggedSize);
  // [5041-4.1-e] [5041-4.1-f] [5040-4.1-a] [5040-4.1-c] a sender sets reserved bits to zero, and versions to 1
  if ((first & 0x3C) != 0) throw DecodeError("reserved bits of the DDP header are not zero: " + shown);
  if ((first & 0x03) != 1) throw DecodeError("the DDP version is not 1: " + shown);
  if ((second & 0x30) != 0) throw DecodeError("reserved bits of the RDMAP header are not zero: " + shown);
  if ((second & 0xC0) != 0x40) throw DecodeError("the RDMAP version is not 1: " + shown);
  In in(View(segment.ulpdu).subspan(2));
  segment.stag = in.u32();
  if (segment.tagged) {
    segment.offset = in.u64();
    return segment;
  }
  segment.queue = in.u32();
  segment.msn = in.u32();
  segment.offset = in.u32();
  // [5040-4.1-d] The Invalidate STag field is zero in each message that does not invalidate an STag.
  const bool invalidates = segment.opcode == kSendInvalidate || segment.opcode == kSendSeInvalidate;
  if (!invalidates && segment.stag != 0) throw DecodeError("an Invalidate STag in a message that has none: " + shown);
  return segment;
}

std::string describe(const Segment& segment) {
  static constexpr std::string_view kNames[] = {"Write",
                                                "Read Request",
                                                "Read Response",
                                                "Send",
                                                "Send with Invalidate",
                                                "Send with SE",
                                                "Send with SE and Invalidate",
                                                "Terminate"};
  const std::string name = segment.opcode < std::size(kNames) ? std::string(kNames[segment.opcode])
                                                              : fmt::format("opcode {}", segment.opcode);
  if (segment.opcode == kTerminate && segment.payload().size() >= 2) {
    const auto layer = std::to_integer<unsigned>(segment.payload()[0]);
    return name + " " +
           describe(TerminateCode{layer >> 4, layer & 15, std::to_integer<unsigned>(segment.payload()[1])});
  }
  if (segment.tagged) return fmt::format("{} of {} bytes", name, segment.payload().size());
  return fmt::format("{} {} on queue {}, {} bytes", name, segment.msn, segment.queue, segment.payload().size());
}

}  // namespace rpcrdma::conform::iwarp
