// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Counts allocations and system calls of a process by interposing functions of the C library. This code counts for the
// whole program into which it is linked, including the program's libraries. All threads share one set of counts.
#include <atomic>
#include <cstdint>

namespace rpcrdma::tally {

using Count = std::atomic<std::uint64_t>;

struct Counts {
  Count allocations{0};     ///< malloc(), calloc() and so on, operator new included
  Count sends{0};           ///< send(), sendmsg(), write() and so on
  Count receives{0};        ///< recv(), recvmsg(), read() and so on that returned data
  Count empty_receives{0};  ///< calls of the same functions that returned no data
  Count waits{0};           ///< epoll_wait(), poll(), also with a timeout of 0
  Count yields{0};          ///< sched_yield()
  Count others{0};          ///< epoll_ctl(), timers, file data; waiting for locks is not counted
};

/// The counts of this process, in its private memory until count_in() is called.
Counts& here() noexcept;
/// Makes `place` the counts of this process. The numbers counted before are not copied to it. `place` must stay valid
/// until the process exits. If it is in shared memory, another process can read the counts.
void count_in(Counts& place) noexcept;

}  // namespace rpcrdma::tally
