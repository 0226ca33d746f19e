// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rpcrdma::sim {

/// SplitMix64: the same numbers from the same seed on every machine.
class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// A random number below `bound`, which is not 0.
  std::uint32_t below(std::uint32_t bound) noexcept { return static_cast<std::uint32_t>(next() % bound); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) noexcept { return low + below(high - low + 1); }
  bool chance(std::uint32_t percent) noexcept { return below(100) < percent; }
  template <class T, std::size_t N>
  T pick(const T (&choices)[N]) noexcept {
    return choices[below(N)];
  }

 private:
  std::uint64_t state_;
};

/// Fills `out` with bytes that `seed` determines.
inline void fill(std::span<std::byte> out, std::uint64_t seed) noexcept {
  Random random(seed);
  for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(out.data() + at, &word, std::min(sizeof word, out.size() - at));
  }
}

/// True if `in` holds the bytes that fill() writes.
inline bool matches(std::span<const std::byte> in, std::uint64_t seed) noexcept {
  Random random(seed);
  for (std::size_t at = 0; at < in.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    if (std::memcmp(in.data() + at, &word, std::min(sizeof word, in.size() - at)) != 0) return false;
  }
  return true;
}

}  // namespace rpcrdma::sim
