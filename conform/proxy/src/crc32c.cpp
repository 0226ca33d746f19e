// SPDX-License-Identifier: BSD-3-Clause
#include "crc32c.hpp"

#include <array>

namespace rpcrdma::proxy {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr auto kTable = make_table();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  std::uint32_t value = 0xFFFFFFFF;
  for (const std::byte byte : bytes) value = (value >> 8) ^ kTable[(value ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return ~value;
}

}  // namespace rpcrdma::proxy
