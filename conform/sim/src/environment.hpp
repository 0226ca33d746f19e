// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Simulated time and reproducible random numbers for the whole process. The program defines functions that replace
// clock_gettime(), epoll_wait(), timerfd_create(), getrandom(), arc4random() and the function behind
// std::random_device, so that the library under test needs no change. Between begin() and end(), the replacements use
// simulated time, and random numbers that are derived from the seed. At other times they call the system. The program
// also replaces mmap() and munmap(), which keep memory for the next seed. Used on one thread.
#include <chrono>
#include <cstdint>

namespace rpcrdma::sim::environment {

using Nanoseconds = std::chrono::nanoseconds;

/// Switches the process to simulated time, which starts at zero, and to random numbers that are derived from `seed`.
void begin(std::uint64_t seed) noexcept;
/// Returns to the time and the random numbers of the system.
void end() noexcept;

/// Simulated time since begin().
Nanoseconds now() noexcept;
void advance(Nanoseconds time) noexcept;
/// The number of times since begin() that the event loop has waited for a timer.
std::uint64_t waits() noexcept;
/// Limits the simulated time of a run. Once simulated time has reached `limit`, each wait of the event loop calls
/// `give_up(object)` instead of advancing the time.
void set_limit(Nanoseconds limit, void (*give_up)(void*), void* object) noexcept;

}  // namespace rpcrdma::sim::environment
