// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

namespace rpcrdma::test {

/// False with a sanitizer, which replaces the copying functions: copied_octets() does not count then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCopiesAreCounted = false;
#else
inline constexpr bool kCopiesAreCounted = true;
#endif

/// Bytes that this program has copied by memcpy() and memmove().
std::uint64_t copied_octets() noexcept;

}  // namespace rpcrdma::test
