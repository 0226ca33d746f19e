// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// MPA markers (RFC 5044 section 4.3): four bytes at each multiple of 512 bytes of the stream (markers included), which
// point back to the header of the frame around them.
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

/// [5044-4.2-a] `distance`: bytes since the frame's length field, including the markers in between; a multiple of four.
inline Marker encode_marker(std::uint32_t distance) noexcept {
  Marker out{};
  Writer writer(out);
  writer.u16(0);
  writer.u16(static_cast<std::uint16_t>(distance));
  return out;
}

/// [5044-4.2-a] [5044-4.2-b] Ignores the reserved half and the two low bits.
inline std::uint32_t decode_marker(const Marker& marker) noexcept {
  Reader reader(marker);
  reader.skip(2);
  return reader.u16() & 0xfffcu;
}

}  // namespace rpcrdma::fabric::iwarp
