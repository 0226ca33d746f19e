// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// In builds with AddressSanitizer, poison() marks the memory of a free buffer. AddressSanitizer then reports accesses
// to this memory, as it does for freed heap memory. In other builds the functions do nothing.
#include <cstddef>
#include <span>

#if defined(__SANITIZE_ADDRESS__)
#define RPCRDMA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RPCRDMA_POISON 1
#endif
#endif

#ifdef RPCRDMA_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace rpcrdma::memory {

#ifdef RPCRDMA_POISON
inline void poison(std::span<std::byte> octets) noexcept { __asan_poison_memory_region(octets.data(), octets.size()); }
inline void unpoison(std::span<std::byte> octets) noexcept {
  __asan_unpoison_memory_region(octets.data(), octets.size());
}
#else
inline void poison(std::span<std::byte>) noexcept {}
inline void unpoison(std::span<std::byte>) noexcept {}
#endif

}  // namespace rpcrdma::memory
