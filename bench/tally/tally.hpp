// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Counts what a process asks of the heap and of the kernel, by standing before the C library's functions of the same
// names. Linked into a program it counts for all of it, libraries included; all threads count together.
#include <atomic>
#include <cstdint>

namespace rpcrdma::tally {

using Count = std::atomic<std::uint64_t>;

struct Counts {
  Count allocations{0};     ///< malloc() and its kin, operator new among them
  Count sends{0};           ///< send(), sendmsg(), write() and so on
  Count receives{0};        ///< recv(), recvmsg(), read() and so on, that brought something
  Count empty_receives{0};  ///< those that found nothing
  Count waits{0};           ///< epoll_wait(), poll(), also without waiting
  Count yields{0};          ///< sched_yield()
  Count others{0};          ///< epoll_ctl(), timers, file data; waiting for a lock is not seen
};

/// Where this process counts: at first in memory of its own.
Counts& here() noexcept;
/// Counts there from now on, for example in memory that processes share. It stays valid as long as the process.
void count_in(Counts& place) noexcept;

}  // namespace rpcrdma::tally
