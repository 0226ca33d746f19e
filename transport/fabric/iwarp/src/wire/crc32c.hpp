// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::fabric::iwarp {

/// The CRC32C of one FPDU, computed piece by piece (RFC 5044 section 4.4): reflected polynomial 0x82f63b78, preset to
/// ones, and complemented at the end.
class Crc32c {
 public:
  static constexpr std::size_t kSize = 4;

  void add(Octets octets) noexcept;
  std::uint32_t value() const noexcept { return ~state_; }

 private:
  std::uint32_t state_ = 0xffffffff;
};

/// The CRC is the only field of these protocols that is sent with the least significant byte first.
inline void encode_crc(std::uint32_t crc, std::byte* at) noexcept {
  for (std::size_t i = 0; i < Crc32c::kSize; ++i) at[i] = static_cast<std::byte>(crc >> (8 * i) & 0xff);
}
inline std::uint32_t decode_crc(const std::byte* at) noexcept {
  std::uint32_t crc = 0;
  for (std::size_t i = Crc32c::kSize; i-- > 0;) crc = crc << 8 | static_cast<std::uint8_t>(at[i]);
  return crc;
}

}  // namespace rpcrdma::fabric::iwarp
