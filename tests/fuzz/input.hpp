// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rpcrdma/base/cursor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rpcrdma::fuzz {

/// Aborts the program if `holds` is false, so that the fuzzer saves the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Reads the input as a sequence of choices. After the end of the input, reads zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : reader_({reinterpret_cast<const std::byte*>(data), size}) {}

  bool ended() const noexcept { return !reader_.ok() || reader_.remaining() == 0; }
  std::uint8_t u8() noexcept { return reader_.u8(); }
  std::uint16_t u16() noexcept { return reader_.u16(); }
  std::uint32_t u32() noexcept { return reader_.u32(); }
  /// Returns the next `count` bytes, or as many as are left.
  Octets octets(std::size_t count) noexcept { return reader_.octets(count < left() ? count : left()); }
  Octets rest() noexcept { return octets(left()); }

 private:
  std::size_t left() const noexcept { return reader_.remaining(); }
  Reader reader_;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace rpcrdma::fuzz
