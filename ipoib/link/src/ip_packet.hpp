// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "rpcrdma/ipoib/link/ip_address.hpp"
#include "rpcrdma/ipoib/wire/encapsulation.hpp"

namespace rpcrdma::ipoib {

/// What the link has to know of a packet.
struct IpPacket {
  FrameType type = FrameType::ipv4;  ///< ipv4 or ipv6
  IpBytes source{};
  IpBytes destination{};
  bool multicast = false;  ///< the destination is a multicast or the broadcast address
};

/// Nothing if `packet` is not an IPv4 or IPv6 packet with a complete fixed header.
std::optional<IpPacket> parse_ip(Octets packet) noexcept;

/// What an ICMP error says.
enum class IcmpError : std::uint8_t { too_big, unreachable };

/// The largest ICMP error about a packet that this host sends (RFC 1812 section 4.3.2.3, RFC 4443 section 3).
inline constexpr std::size_t kMaxIcmpError = 1280;

/// Writes an ICMP error to `out`, of kMaxIcmpError bytes. It goes from the destination of `packet` to its source: the
/// stack drops packets that arrive with one of its own addresses as their source. `mtu` is for too_big. Returns the
/// size of the error; 0 if none may be sent about such a packet (RFC 1122 section 3.2.2, RFC 4443 section 2.4).
std::size_t make_icmp_error(IcmpError error, std::uint32_t mtu, Octets packet, MutableOctets out) noexcept;

}  // namespace rpcrdma::ipoib
