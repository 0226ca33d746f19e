// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "rpcrdma/ipoib/link/ip_address.hpp"
#include "rpcrdma/ipoib/wire/encapsulation.hpp"

namespace rpcrdma::ipoib {

/// The fields of a packet that the link uses.
struct IpPacket {
  FrameType type = FrameType::ipv4;  ///< ipv4 or ipv6
  IpBytes source{};
  IpBytes destination{};
  bool multicast = false;  ///< the destination is a multicast or the broadcast address
};

/// Returns nothing if `packet` is not an IPv4 or IPv6 packet with a complete fixed header.
std::optional<IpPacket> parse_ip(Octets packet) noexcept;

/// The kinds of ICMP errors.
enum class IcmpError : std::uint8_t { too_big, unreachable };

/// The size of the largest ICMP error that make_icmp_error() writes (RFC 1812 section 4.3.2.3, RFC 4443 section 3).
inline constexpr std::size_t kMaxIcmpError = 1280;

/// Writes an ICMP error about `packet`, which the local IP stack has sent, to `out`. `out` must have kMaxIcmpError
/// bytes. The error goes to the source of `packet`, and has the destination of `packet` as its own source: the stack
/// would drop an error from one of its own addresses. Only too_big uses `mtu`. Returns the size of the error in bytes,
/// or 0 if no error may be sent about `packet` (RFC 1122 section 3.2.2, RFC 4443 section 2.4).
std::size_t make_icmp_error(IcmpError error, std::uint32_t mtu, Octets packet, MutableOctets out) noexcept;

}  // namespace rpcrdma::ipoib
