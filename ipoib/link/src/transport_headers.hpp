// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Sizes, fields and flags of the headers of IP, TCP and UDP (RFC 791, RFC 8200, RFC 9293, RFC 768).
#include "packet_bytes.hpp"

namespace rpcrdma::ipoib {

inline constexpr std::size_t kIpv4Header = 20, kIpv6Header = 40, kTcpHeader = 20, kUdpHeader = 8;
inline constexpr std::uint8_t kTcp = 6, kUdp = 17;
inline constexpr std::uint16_t kIpv4FragmentBits = 0x3fff, kIpv4DontFragment = 0x4000;

inline constexpr std::size_t kTcpSequence = 4, kTcpFlags = 13, kTcpChecksum = 16, kUdpLength = 4, kUdpChecksum = 6;
inline constexpr std::byte kTcpFin{0x01}, kTcpPsh{0x08}, kTcpAck{0x10}, kTcpCwr{0x80};

inline std::size_t ipv4_header_size(Octets packet) noexcept { return std::size_t{byte_at(packet, 0) & 0xfu} * 4; }
inline std::size_t tcp_header_size(Octets header) noexcept { return std::size_t{byte_at(header, 12)} / 16 * 4; }

}  // namespace rpcrdma::ipoib
