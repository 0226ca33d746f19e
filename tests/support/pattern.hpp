// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpcrdma::test {

/// Returns the byte at `index` of the pattern `seed`. Patterns with different seeds differ. No pattern repeats: all its
/// words of 8 bytes are different.
constexpr std::byte pattern_at(std::uint64_t seed, std::uint64_t index) noexcept {
  std::uint64_t x = (index / 8 + 1) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;
  x ^= x >> 31;
  return static_cast<std::byte>(x >> (index % 8 * 8) & 0xff);
}

inline void fill_pattern(std::span<std::byte> out, std::uint64_t seed, std::uint64_t first_index = 0) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = pattern_at(seed, first_index + i);
}

inline bool has_pattern(std::span<const std::byte> octets, std::uint64_t seed, std::uint64_t first_index = 0) noexcept {
  for (std::size_t i = 0; i < octets.size(); ++i)
    if (octets[i] != pattern_at(seed, first_index + i)) return false;
  return true;
}

inline bool all_are(std::span<const std::byte> octets, std::byte value) noexcept {
  for (const std::byte octet : octets)
    if (octet != value) return false;
  return true;
}

}  // namespace rpcrdma::test
