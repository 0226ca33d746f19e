// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/wire/private_data.hpp"

#include <algorithm>

#include "rpcrdma/ipoib/wire/encapsulation.hpp"
#include "rpcrdma/ipoib/wire/link_address.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr std::uint8_t kExtensionMark = 0xce;

/// Returns nothing if there is no valid extension: the bytes may be padding of another implementation.
std::optional<Extension> decode_extension(Reader& reader) noexcept {
  const std::uint8_t mark = reader.u8();
  const std::uint8_t refusal = reader.u8();
  const std::uint16_t credits = reader.u16();
  if (!reader.ok() || mark != kExtensionMark || refusal > static_cast<std::uint8_t>(Refusal::last)) return std::nullopt;
  if (refusal == 0 && credits == 0) return std::nullopt;
  return Extension{static_cast<Refusal>(refusal), credits};
}

}  // namespace

std::size_t encoded_size(const PrivateData& data) noexcept {
  return data.extension ? kExtendedPrivateDataSize : kPrivateDataSize;
}

// [4755-6-a] [4755-3.2-a] [4755-5.1-a] announces queue pair number and Receive MTU
std::array<std::byte, kExtendedPrivateDataSize> encode(const PrivateData& data) noexcept {
  std::array<std::byte, kExtendedPrivateDataSize> out{};
  Writer writer(out);
  writer.u32(data.qpn & kMaxQpn);  // the first byte is reserved
  writer.u32(data.receive_mtu);
  if (data.extension) {
    writer.u8(kExtensionMark);
    writer.u8(static_cast<std::uint8_t>(data.extension->refusal));
    writer.u16(data.extension->credits);
  }
  return out;
}

std::optional<PrivateData> decode_private_data(Octets received) noexcept {
  Reader reader(received);
  PrivateData out;
  out.qpn = reader.u32() & kMaxQpn;  // [4755-6-a] the reserved byte is ignored
  out.receive_mtu = reader.u32();
  if (!reader.ok()) return std::nullopt;
  out.extension = decode_extension(reader);
  return out;
}

// [4755-5.1-a] [4755-5.1-b] the smaller Receive MTU determines the size of packets
std::optional<std::uint32_t> connection_mtu(std::uint32_t own_receive_mtu, std::uint32_t peer_receive_mtu) noexcept {
  const std::uint32_t message = std::min({own_receive_mtu, peer_receive_mtu, kMaxReceiveMtu});
  if (message <= kHeaderSize) return std::nullopt;
  return message - static_cast<std::uint32_t>(kHeaderSize);
}

}  // namespace rpcrdma::ipoib
