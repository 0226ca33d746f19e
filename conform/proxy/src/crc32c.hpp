// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpcrdma::proxy {

/// CRC32c, as MPA uses it (RFC 5044 section 4.4).
std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace rpcrdma::proxy
