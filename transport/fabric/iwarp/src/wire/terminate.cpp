// SPDX-License-Identifier: BSD-3-Clause
#include "wire/terminate.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "wire/ddp.hpp"
#include "wire/read_request.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

constexpr std::uint8_t kLengthFlag = 0x80;  // M
constexpr std::uint8_t kDdpFlag = 0x40;     // D
constexpr std::uint8_t kRdmapFlag = 0x20;   // R
constexpr std::uint8_t kSiwFlags = 0x07;    // the flags as Linux siw sends them (little-endian): M is 1, D is 2, R is 4

struct Named {
  TerminateCode code;
  std::string_view text;
};

constexpr std::array kNamed{
    Named{terminate::kReadInvalidStag, "invalid STag"},
    Named{terminate::kReadBounds, "base or bounds violation"},
    Named{terminate::kReadAccess, "access rights violation"},
    Named{terminate::kReadForeignStag, "STag not associated with the stream"},
    Named{terminate::kReadWrap, "TO wrap"},
    Named{terminate::kForeignInvalidate, "STag cannot be invalidated"},
    Named{{0, 1, 0xff}, "unspecified"},
    Named{terminate::kRdmapVersion, "invalid RDMAP version"},
    Named{terminate::kOpcode, "unexpected opcode"},
    Named{{0, 2, 0x07}, "catastrophic, localized to the stream"},
    Named{{0, 2, 0x08}, "catastrophic, global"},
    Named{terminate::kInvalidate, "STag cannot be invalidated"},
    Named{terminate::kUnspecifiedOperation, "unspecified"},
    Named{terminate::kInvalidStag, "invalid STag"},
    Named{terminate::kBounds, "base or bounds violation"},
    Named{terminate::kForeignStag, "STag not associated with the stream"},
    Named{terminate::kWrap, "TO wrap"},
    Named{terminate::kTaggedVersion, "invalid DDP version"},
    Named{terminate::kQueue, "invalid queue number"},
    Named{terminate::kNoBuffer, "no buffer available"},
    Named{terminate::kMsn, "MSN out of range"},
    Named{terminate::kMessageOffset, "invalid message offset"},
    Named{terminate::kTooLong, "message too long for its buffer"},
    Named{terminate::kUntaggedVersion, "invalid DDP version"},
    Named{{2, 0, 0x01}, "TCP connection lost"},
    Named{terminate::kCrc, "CRC mismatch"},
    Named{terminate::kMarkers, "marker and length disagree"},
    Named{{2, 0, 0x04}, "invalid start-up frame"},
    Named{{2, 0, 0x05}, "local catastrophic error"},
    Named{terminate::kReadDepth, "insufficient IRD"},
    Named{terminate::kReadyToReceive, "no matching RTR option"},
};

constexpr std::array<std::string_view, 3> kLayers{"RDMAP", "DDP", "MPA"};

std::string_view type_text(const TerminateCode& code) noexcept {
  if (code.type == 0) return code.layer == terminate::kMpaLayer ? "error" : "local catastrophic error";
  if (code.layer == terminate::kRdmapLayer)
    return code.type == 1 ? "remote protection error" : "remote operation error";
  if (code.layer == terminate::kDdpLayer) return code.type == 1 ? "tagged buffer error" : "untagged buffer error";
  return "error";
}

const Named* find(const TerminateCode& code) noexcept {
  for (const Named& named : kNamed)
    if (named.code == code) return &named;
  return nullptr;
}

bool plausible(const TerminateCode& code) noexcept {
  return find(code) != nullptr || (code.layer <= terminate::kDdpLayer && code.type == 0);
}

}  // namespace

// [5040-4.8-a] [5040-4.8-b] the layer is the high nibble; reserved bits are zero
void encode(const Terminate& message, Writer& out) noexcept {
  out.u8(static_cast<std::uint8_t>(message.code.layer << 4 | (message.code.type & 0x0f)));
  out.u8(message.code.code);
  out.u8(static_cast<std::uint8_t>((message.has_length ? kLengthFlag : 0) |
                                   (message.ddp_header.empty() ? 0 : kDdpFlag) |
                                   (message.read_request.empty() ? 0 : kRdmapFlag)));
  out.u8(0);
  if (message.has_length || !message.ddp_header.empty()) out.u16(message.segment_length);
  out.octets(message.ddp_header);
  out.octets(message.read_request);
}

bool decode(Octets octets, Terminate& message) noexcept {
  Reader in(octets);
  const std::uint8_t first = in.u8();
  const std::uint8_t code = in.u8();
  std::uint8_t flags = in.u8();
  in.u8();
  if (!in.ok()) return false;
  const TerminateCode rfc{static_cast<std::uint8_t>(first >> 4), static_cast<std::uint8_t>(first & 0x0f), code};
  const TerminateCode siw{rfc.type, rfc.layer, code};
  const std::uint8_t low = flags & kSiwFlags;
  const bool in_rfc_order = (flags & 0xe0) != 0 || (low == 0 && (plausible(rfc) || !plausible(siw)));
  message = {};
  message.code = in_rfc_order ? rfc : siw;
  if (!in_rfc_order)
    flags =
        static_cast<std::uint8_t>((low & 1 ? kLengthFlag : 0) | (low & 2 ? kDdpFlag : 0) | (low & 4 ? kRdmapFlag : 0));
  // [5040-4.8-c] A Terminate that ends before the headers that its flags announce is accepted. The error code, which
  // has been read above, is enough to report the error.
  message.has_length = (flags & kLengthFlag) != 0 && in.remaining() >= 2;
  if ((flags & (kLengthFlag | kDdpFlag)) != 0) message.segment_length = in.u16();
  if ((flags & kDdpFlag) != 0 && in.remaining() != 0)
    message.ddp_header = in.octets(is_tagged(in.rest().front()) ? kTaggedHeaderSize : kUntaggedHeaderSize);
  if ((flags & kRdmapFlag) != 0) message.read_request = in.octets(ReadRequest::kSize);
  return true;
}

std::string describe(const TerminateCode& code) {
  const Named* named = find(code);
  const std::string_view layer = code.layer < kLayers.size() ? kLayers[code.layer] : "unknown layer";
  return fmt::format("{} {}: {} ({:x}/{:x}/{:02x})", layer, type_text(code), named ? named->text : "unknown",
                     code.layer, code.type, code.code);
}

}  // namespace rpcrdma::fabric::iwarp
