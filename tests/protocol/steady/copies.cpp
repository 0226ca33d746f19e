// SPDX-License-Identifier: BSD-3-Clause
// Replaces memcpy() and memmove() of the C library by versions that count the bytes.
#include "copies.hpp"

#include <cstddef>

namespace rpcrdma::test {
namespace {

constinit std::uint64_t copied = 0;

}  // namespace

std::uint64_t copied_octets() noexcept { return copied; }

}  // namespace rpcrdma::test

#ifndef RPCRDMA_SANITIZED

// These functions copy with assembly. The compiler may replace a loop that copies bytes by a call of memcpy() or
// memmove(), and these functions would then call themselves without end.
extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) noexcept {
  rpcrdma::test::copied += size;
  void* const start = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return start;
}

void* memmove(void* to, const void* from, std::size_t size) noexcept {
  const auto distance = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  if (distance >= size) return memcpy(to, from, size);
  rpcrdma::test::copied += size;
  auto* last_to = static_cast<std::byte*>(to) + size - 1;
  const auto* last_from = static_cast<const std::byte*>(from) + size - 1;
  __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(last_to), "+S"(last_from), "+c"(size) : : "memory");
  return to;
}

}  // extern "C"

#endif
