// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <algorithm>
#include <thread>

namespace rpcrdma {
namespace {

/// The initial polling time, and the shortest one before polling stops.
constexpr Runner::Clock::duration kLeast = std::chrono::microseconds(5);
/// While it yields before it polls, it polls first every so many turns.
constexpr unsigned kProbe = 16;

}  // namespace

void Runner::run() {
  while (run_one() != 0) {
  }
}

std::size_t Runner::run_one() {
  std::size_t done = 0;
  if (!yields_first() || ++turns_ % kProbe == 0) done = context_.poll_one();
  if (done != 0) yields_paid_ = 0;
  if (done == 0 && window_ != Clock::duration::zero()) done = look();
  if (done != 0 || context_.stopped()) return done;
  const Clock::time_point start = Clock::now();
  done = context_.run_one();
  if (longest_ != Clock::duration::zero()) slept(Clock::now() - start);
  return done;
}

std::size_t Runner::look() {
  std::size_t done = give_way();
  if (done != 0) return done;
  const Clock::time_point end = Clock::now() + window_;
  while (done == 0 && !context_.stopped() && Clock::now() < end) {
    std::this_thread::yield();
    done = context_.poll_one();
  }
  return done;
}

/// The peer may be waiting for this CPU. If another process holds it, block instead of yielding: the scheduler favours
/// a thread that wakes up.
std::size_t Runner::give_way() {
  const Clock::time_point start = Clock::now();
  std::this_thread::yield();
  const Clock::duration away = Clock::now() - start;
  if (away > longest_) slept(away);
  const std::size_t done = context_.poll_one();
  yields_paid_ = done != 0 && away <= longest_ ? yields_paid_ + 1 : 0;
  return done;
}

/// Extends the polling time if a slightly longer poll would have avoided blocking, shortens it after a long block.
void Runner::slept(Clock::duration time) noexcept {
  if (time <= longest_)
    window_ = std::min(std::max(2 * window_, kLeast), longest_);
  else if (window_ > kLeast)
    window_ /= 2;
  else
    window_ = Clock::duration::zero();
}

}  // namespace rpcrdma
