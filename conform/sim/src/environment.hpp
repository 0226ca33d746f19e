// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Time and randomness of the process. The program replaces clock_gettime(), epoll_wait(), timerfd_create(),
// getrandom(), arc4random() and the function behind std::random_device, so the library runs unchanged. Between begin()
// and end() they use simulated time and random numbers from the seed; otherwise they call the system. Used on one
// thread.
#include <chrono>
#include <cstdint>

namespace rpcrdma::sim::environment {

using Nanoseconds = std::chrono::nanoseconds;

/// Starts simulated time at zero; random numbers follow from `seed`.
void begin(std::uint64_t seed) noexcept;
/// Returns to the time and the random numbers of the system.
void end() noexcept;

/// Simulated time since begin().
Nanoseconds now() noexcept;
void advance(Nanoseconds time) noexcept;
/// The number of times since begin() that the event loop has waited for a timer.
std::uint64_t waits() noexcept;
/// When the event loop waits although simulated time has reached `limit`, `give_up(object)` is called.
void set_limit(Nanoseconds limit, void (*give_up)(void*), void* object) noexcept;

}  // namespace rpcrdma::sim::environment
