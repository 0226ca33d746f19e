// SPDX-License-Identifier: BSD-3-Clause
// Counts allocations: replaces glibc's malloc() and related functions. A sanitizer replaces them itself: in such a
// build, uses the sanitizer's hooks. operator new calls malloc().
#include <cerrno>
#include <cstddef>

#include "tally.hpp"

namespace {

void count() noexcept { rpcrdma::tally::here().allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

#ifdef RPCRDMA_SANITIZED

// Declared in sanitizer/allocator_interface.h, which some compilers' packages lack.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace {

[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { count(); }, [](const volatile void*) {});

}  // namespace

#else

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are glibc's
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
  count();
  return __libc_calloc(number, size);
}

void* realloc(void* memory, std::size_t size) {
  count();
  return __libc_realloc(memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count();
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}

}  // extern "C"

#endif
