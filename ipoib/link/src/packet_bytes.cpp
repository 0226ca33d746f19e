// SPDX-License-Identifier: BSD-3-Clause
#include "packet_bytes.hpp"

#include <bit>
#include <cstring>

namespace rpcrdma::ipoib {

// Computes the sum in the byte order of the host, and swaps the bytes of the result if the host's order is not the
// network's (RFC 1071 section 2). The upper and the lower halves of the 64-bit words are
// added separately; these sums cannot overflow, as a packet is small.
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
