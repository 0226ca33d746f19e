// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace rpcrdma::nfsd {

/// Sleeps while `word` is `value`, until futex_wake() or, unless `limit` is null, for this time at most. May return
/// early.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       const timespec* limit = nullptr) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, limit, nullptr, 0);
}

/// Wakes a thread that sleeps in futex_wait().
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace rpcrdma::nfsd
