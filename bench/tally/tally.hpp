// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Counts allocations and system calls of a process by interposing the C library's functions. Counts for the whole
// program it is linked into, libraries included; all threads count together.
#include <atomic>
#include <cstdint>

namespace rpcrdma::tally {

using Count = std::atomic<std::uint64_t>;

struct Counts {
  Count allocations{0};     ///< malloc() and its kin, operator new among them
  Count sends{0};           ///< send(), sendmsg(), write() and so on
  Count receives{0};        ///< recv(), recvmsg(), read() and so on that returned data
  Count empty_receives{0};  ///< those that returned none
  Count waits{0};           ///< epoll_wait(), poll(), also without waiting
  Count yields{0};          ///< sched_yield()
  Count others{0};          ///< epoll_ctl(), timers, file data; not waiting for a lock
};

/// The counts of this process: at first in memory of its own.
Counts& here() noexcept;
/// Counts there from now on, for example in memory that processes share; valid until the process exits.
void count_in(Counts& place) noexcept;

}  // namespace rpcrdma::tally
