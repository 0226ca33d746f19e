// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/wire/encapsulation.hpp"

namespace rpcrdma::ipoib {

void encode_header(FrameType type, std::span<std::byte, kHeaderSize> out) noexcept {
  Writer writer(out);
  writer.u16(static_cast<std::uint16_t>(type));  // [4755-4-a] the type of the packet
  writer.u16(0);                                 // [4391-6-a] reserved
}

std::optional<FrameType> decode_header(Octets frame) noexcept {
  Reader reader(frame);
  const auto type = static_cast<FrameType>(reader.u16());
  reader.u16();  // [4391-6-a] the reserved field is ignored
  if (!reader.ok()) return std::nullopt;
  return type;
}

void encode_credit(std::uint32_t limit, std::span<std::byte, kCreditFrameSize> out) noexcept {
  encode_header(FrameType::credit, out.first<kHeaderSize>());
  Writer(out.subspan<kHeaderSize>()).u32(limit);
}

std::optional<std::uint32_t> decode_credit(Octets frame) noexcept {
  if (frame.size() != kCreditFrameSize || decode_header(frame) != FrameType::credit) return std::nullopt;
  return Reader(frame.subspan(kHeaderSize)).u32();
}

}  // namespace rpcrdma::ipoib
