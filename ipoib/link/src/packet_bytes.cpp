// SPDX-License-Identifier: BSD-3-Clause
#include "packet_bytes.hpp"

#include <bit>
#include <cstring>

namespace rpcrdma::ipoib {

// Adds the bytes as words in the byte order of the host. On a little-endian host, swaps the two bytes of the result,
// which is then the sum of the words in network byte order (RFC 1071 section 2). The upper and the lower 32 bits of the
// 64-bit words are added separately, so that the sums of a packet cannot overflow.
std::uint64_t checksum_sum(Octets octets, std::uint64_t start) noexcept {
  const std::byte* at = octets.data();
  std::size_t left = octets.size();
  std::uint64_t value = 0, lower = 0, upper = 0;
  for (; left >= sizeof value; at += sizeof value, left -= sizeof value) {
    std::memcpy(&value, at, sizeof value);
    lower += value & 0xffffffff;
    upper += value >> 32;
  }
  if (left != 0) {
    value = 0;
    std::memcpy(&value, at, left);
    lower += value & 0xffffffff;
    upper += value >> 32;
  }
  std::uint32_t sum = checksum_folded(lower + upper);
  if constexpr (std::endian::native == std::endian::little) sum = sum << 8 | sum >> 8;
  return start + (sum & 0xffff);
}

}  // namespace rpcrdma::ipoib
