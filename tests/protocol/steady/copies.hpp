// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

namespace rpcrdma::test {

/// False in a build with a sanitizer: the sanitizer replaces memcpy() and memmove(), so copied_octets() counts nothing.
#ifdef RPCRDMA_SANITIZED
inline constexpr bool kCopiesAreCounted = false;
#else
inline constexpr bool kCopiesAreCounted = true;
#endif

/// Bytes that this program has copied by memcpy() and memmove().
std::uint64_t copied_octets() noexcept;

}  // namespace rpcrdma::test
