// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/link/ip_address.hpp"

#include <cstring>

#include "rpcrdma/base/host_path.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr unsigned kMappedBits = 96;

}  // namespace

IpBytes ip_bytes(const boost::asio::ip::address& address) noexcept {
  IpBytes out{};
  if (address.is_v6()) {
    const auto bytes = address.to_v6().to_bytes();
    std::memcpy(out.data(), bytes.data(), bytes.size());
  } else {
    const auto bytes = address.to_v4().to_bytes();
    out[10] = out[11] = std::byte{0xff};
    std::memcpy(out.data() + 12, bytes.data(), bytes.size());
  }
  return out;
}

boost::asio::ip::address address_of(const IpBytes& bytes) noexcept {
  boost::asio::ip::address_v6::bytes_type out;
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return unmapped(boost::asio::ip::address_v6(out));
}

// An IPv6 range that includes the IPv4-mapped addresses does not match them: they represent IPv4 addresses.
bool IpPrefix::contains(const IpBytes& other) const noexcept {
  if (address_of(other).is_v4() != address.is_v4()) return false;
  const IpBytes own = ip_bytes(address);
  const unsigned bits = length + (address.is_v4() ? kMappedBits : 0);
  const std::size_t whole = bits / 8;
  if (std::memcmp(own.data(), other.data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::byte>(0xff << (8 - bits % 8));
  return (own[whole] & mask) == (other[whole] & mask);
}

}  // namespace rpcrdma::ipoib
