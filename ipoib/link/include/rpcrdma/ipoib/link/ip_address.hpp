// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>

namespace rpcrdma::ipoib {

/// An IPv6 address, or an IPv4 address as an IPv4-mapped one.
using IpBytes = std::array<std::byte, 16>;

IpBytes ip_bytes(const boost::asio::ip::address& address) noexcept;
/// The inverse of ip_bytes().
boost::asio::ip::address address_of(const IpBytes& bytes) noexcept;

/// An IP address and a prefix length, as in 192.0.2.7/24. They define the range of addresses whose first `length` bits
/// are those of `address`. For an interface, `address` is also the address of the interface itself.
struct IpPrefix {
  boost::asio::ip::address address;
  std::uint8_t length = 0;  ///< bits: at most 32 for IPv4, 128 for IPv6

  bool contains(const IpBytes& other) const noexcept;
};

}  // namespace rpcrdma::ipoib
