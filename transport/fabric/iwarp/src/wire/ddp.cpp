// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ddp.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

constexpr std::uint8_t kTaggedFlag = 0x80;
constexpr std::uint8_t kLastFlag = 0x40;
constexpr std::uint8_t kDdpVersionMask = 0x03;
constexpr std::uint8_t kOpcodeMask = 0x0f;

}  // namespace

void encode(const DdpHeader& header, Writer& out) noexcept {
  // [5041-4.1-e] [5040-4.1-c] reserved bits are zero
  out.u8(static_cast<std::uint8_t>((header.tagged ? kTaggedFlag : 0) | (header.last ? kLastFlag : 0) |
                                   (header.ddp_version & kDdpVersionMask)));
  // [5040-4.1-a] the RDMAP control byte
  out.u8(static_cast<std::uint8_t>(header.rdmap_version << 6 | (header.opcode & kOpcodeMask)));
  out.u32(header.stag);
  if (header.tagged) {  // [5041-4.2-a] the tagged header
    out.u64(header.offset);
    return;
  }
  out.u32(header.queue);  // [5041-4.3-a] the untagged header
  out.u32(header.msn);
  out.u32(static_cast<std::uint32_t>(header.offset));
}

DdpHeader decode_ddp(Reader& in) noexcept {
  DdpHeader out;
  const std::uint8_t ddp = in.u8();
  const std::uint8_t rdmap = in.u8();
  out.tagged = (ddp & kTaggedFlag) != 0;
  out.last = (ddp & kLastFlag) != 0;
  out.ddp_version = ddp & kDdpVersionMask;
  out.rdmap_version = static_cast<std::uint8_t>(rdmap >> 6);
  out.opcode = rdmap & kOpcodeMask;
  out.stag = in.u32();
  if (out.tagged) {
    out.offset = in.u64();
    return out;
  }
  out.queue = in.u32();
  out.msn = in.u32();
  out.offset = in.u32();
  return out;
}

}  // namespace rpcrdma::fabric::iwarp
