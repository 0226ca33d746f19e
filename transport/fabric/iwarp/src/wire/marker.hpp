// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// MPA markers (RFC 5044 section 4.3). If markers are in use, a marker of four bytes begins at each stream position that
// is a multiple of 512. The markers themselves count as bytes of the stream. A marker holds the distance back to the
// start of the FPDU that contains it.
#include <array>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::fabric::iwarp {

inline constexpr std::size_t kMarkerSize = 4;
inline constexpr std::size_t kMarkerInterval = 512;

/// [5044-4.3-b] [5044-4.3-e] The number of bytes from stream position `at` to the next marker; 0 if a marker is due at
/// `at`.
constexpr std::size_t until_marker(std::uint64_t at) noexcept {
  return static_cast<std::size_t>((0 - at) % kMarkerInterval);
}

using Marker = std::array<std::byte, kMarkerSize>;

/// [5044-4.2-a] Makes a marker. `distance` is the number of bytes from the length field of the frame to the marker. It
/// includes the frame's earlier markers, and is a multiple of four.
inline Marker encode_marker(std::uint32_t distance) noexcept {
  Marker out{};
  Writer writer(out);
  writer.u16(0);
  writer.u16(static_cast<std::uint16_t>(distance));
  return out;
}

/// [5044-4.2-a] [5044-4.2-b] Returns the distance that a marker holds. Ignores the reserved first half of the marker
/// and the two low bits of the distance.
inline std::uint32_t decode_marker(const Marker& marker) noexcept {
  Reader reader(marker);
  reader.skip(2);
  return reader.u16() & 0xfffcu;
}

}  // namespace rpcrdma::fabric::iwarp
