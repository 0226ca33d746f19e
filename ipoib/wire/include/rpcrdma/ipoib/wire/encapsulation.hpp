// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The encapsulation header in front of each packet (RFC 4391 section 6, RFC 4755 section 4). Does no I/O; may be used
// on any thread.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::ipoib {

inline constexpr std::size_t kHeaderSize = 4;

/// The type of a frame's payload: values of the EtherType registry.
enum class FrameType : std::uint16_t {
  ipv4 = 0x0800,
  arp = 0x0806,   ///< over UD only
  rarp = 0x8035,  ///< over UD only
  ipv6 = 0x86dd,
  /// A credit message, which controls the flow of packets: see encode_credit(). Used only between peers that both
  /// announce credits in their private data. The value is Local Experimental Ethertype 1 of IEEE 802.
  credit = 0x88b5,
};

/// Writes the header of a frame to its first four bytes.
void encode_header(FrameType type, std::span<std::byte, kHeaderSize> out) noexcept;

/// Returns the type in the header of `frame`, which need not be one of the named values of FrameType. Returns nothing
/// if `frame` is shorter than the header.
std::optional<FrameType> decode_header(Octets frame) noexcept;

/// The size of a credit message. The message carries the total number of packets that its receiver may send on the
/// connection, modulo 2^32. Not part of RFC 4755.
inline constexpr std::size_t kCreditFrameSize = kHeaderSize + 4;
void encode_credit(std::uint32_t limit, std::span<std::byte, kCreditFrameSize> out) noexcept;
/// Returns nothing unless `frame` is exactly one credit message.
std::optional<std::uint32_t> decode_credit(Octets frame) noexcept;

}  // namespace rpcrdma::ipoib
