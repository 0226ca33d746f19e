// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Sizes of the MPA frame (RFC 5044 sections 3, 4.1, 4.5): length, ULPDU, pad to four bytes, CRC.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rpcrdma::fabric::iwarp {

inline constexpr std::size_t kFpduLengthSize = 2;
inline constexpr std::size_t kFpduCrcSize = 4;
inline constexpr std::uint32_t kMinMulpdu = 128;
/// A payload of at least this size is large: FpduReader tries to have it read directly into its target. For a smaller
/// payload a copy takes less time than a read of its own.
inline constexpr std::size_t kLargePayload = 8192;
inline constexpr std::uint32_t kMaxMulpdu = 64768;

/// [5044-4.1-c] The size of the pad: zero to three bytes, so that length, ULPDU and pad are a multiple of four.
constexpr std::size_t fpdu_pad(std::size_t ulpdu) noexcept { return (0 - (kFpduLengthSize + ulpdu)) & 3; }

/// The size of the whole frame, without markers.
constexpr std::size_t fpdu_size(std::size_t ulpdu) noexcept {
  return kFpduLengthSize + ulpdu + fpdu_pad(ulpdu) + kFpduCrcSize;
}

/// [5044-3-d] [5044-4.5-c] [5044-3-e] Limits a MULPDU to the range that every peer accepts.
constexpr std::uint32_t clamp_mulpdu(std::uint32_t size) noexcept { return std::clamp(size, kMinMulpdu, kMaxMulpdu); }

/// [5044-4.5-a] [5044-4.5-b] The largest ULPDU whose frame fits one TCP segment of `emss` bytes, limited by
/// clamp_mulpdu().
constexpr std::uint32_t mulpdu_for(std::uint32_t emss, bool markers) noexcept {
  const std::uint32_t overhead = 6 + (markers ? 4 * ((emss + 511) / 512) : 0) + emss % 4;
  return clamp_mulpdu(emss > overhead ? emss - overhead : 0);
}

}  // namespace rpcrdma::fabric::iwarp
