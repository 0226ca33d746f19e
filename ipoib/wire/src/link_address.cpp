// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/wire/link_address.hpp"

#include <algorithm>

namespace rpcrdma::ipoib {
namespace {

constexpr std::uint32_t kReliableConnected = 0x80;
constexpr std::uint32_t kUnreliableConnected = 0x40;

}  // namespace

std::array<std::byte, kLinkAddressSize> encode(const LinkAddress& address) noexcept {
  std::array<std::byte, kLinkAddressSize> out{};
  Writer writer(out);
  // [4755-3.1-a] all other flags are zero
  const std::uint32_t flags =
      (address.reliable_connected ? kReliableConnected : 0) | (address.unreliable_connected ? kUnreliableConnected : 0);
  writer.u32(flags << 24 | (address.qpn & kMaxQpn));  // [4391-9.1.1-a] flags, queue pair number, GID
  writer.octets(address.gid);
  return out;
}

std::optional<LinkAddress> decode_link_address(Octets octets) noexcept {
  if (octets.size() != kLinkAddressSize) return std::nullopt;
  Reader reader(octets);
  const std::uint32_t first = reader.u32();
  LinkAddress out;
  out.reliable_connected = (first >> 24 & kReliableConnected) != 0;  // [4755-3.1-a] other flags are ignored
  out.unreliable_connected = (first >> 24 & kUnreliableConnected) != 0;
  out.qpn = first & kMaxQpn;
  std::ranges::copy(reader.octets(out.gid.size()), out.gid.begin());
  return out;
}

std::strong_ordering compare_without_flags(const LinkAddress& one, const LinkAddress& other) noexcept {
  if (const auto order = (one.qpn & kMaxQpn) <=> (other.qpn & kMaxQpn); order != 0) return order;
  return one.gid <=> other.gid;
}

// [4755-3.3-a] the side with the smaller address accepts
bool accepts_crossing_request(const LinkAddress& local, const LinkAddress& remote) noexcept {
  return compare_without_flags(local, remote) < 0;
}

}  // namespace rpcrdma::ipoib
