// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

namespace rpcrdma::test {

/// Whether copied_octets() can tell: not with a sanitizer, which has copying functions of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCopiesAreCounted = false;
#else
inline constexpr bool kCopiesAreCounted = true;
#endif

/// Octets that this program has copied so far by memcpy() and memmove(), of any length.
std::uint64_t copied_octets() noexcept;

}  // namespace rpcrdma::test
