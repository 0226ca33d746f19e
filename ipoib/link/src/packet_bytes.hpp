// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Fields of packets, and the Internet checksum (RFC 1071).
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::ipoib {

inline std::uint8_t byte_at(Octets packet, std::size_t index) noexcept {
  return static_cast<std::uint8_t>(packet[index]);
}

inline std::uint16_t word_at(Octets packet, std::size_t index) noexcept {
  return static_cast<std::uint16_t>(byte_at(packet, index) << 8 | byte_at(packet, index + 1));
}

inline std::uint32_t long_at(Octets packet, std::size_t index) noexcept {
  return static_cast<std::uint32_t>(word_at(packet, index)) << 16 | word_at(packet, index + 2);
}

inline void put_word(MutableOctets packet, std::size_t index, std::uint32_t value) noexcept {
  packet[index] = static_cast<std::byte>(value >> 8 & 0xff);
  packet[index + 1] = static_cast<std::byte>(value & 0xff);
}

inline void put_long(MutableOctets packet, std::size_t index, std::uint32_t value) noexcept {
  put_word(packet, index, value >> 16);
  put_word(packet, index + 2, value);
}

/// The sum of `start` and the 16-bit words of `octets`, not folded: it may be longer than 16 bits, and only its value
/// modulo 0xffff is defined. An odd last byte counts as the upper byte of a word.
std::uint64_t checksum_sum(Octets octets, std::uint64_t start = 0) noexcept;

/// The sum folded to 16 bits, without the complement.
inline std::uint16_t checksum_folded(std::uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

/// The checksum: the complement of the folded sum.
inline std::uint16_t checksum_of(std::uint64_t sum) noexcept {
  return static_cast<std::uint16_t>(~checksum_folded(sum));
}

}  // namespace rpcrdma::ipoib
