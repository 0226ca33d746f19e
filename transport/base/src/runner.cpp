// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <algorithm>
#include <thread>

namespace rpcrdma {
namespace {

/// The first window, and the least before it is given up.
constexpr Runner::Clock::duration kLeast = std::chrono::microseconds(5);
/// After so many yields in a row that brought work at once, it yields before it polls; but once in so many turns.
constexpr unsigned kSure = 8;
constexpr unsigned kProbe = 16;

}  // namespace

void Runner::run() {
  while (run_one() != 0) {
  }
}

std::size_t Runner::run_one() {
  std::size_t done = 0;
  if (window_ != Clock::duration::zero()) {
    const bool poll = yields_paid_ < kSure || ++turns_ % kProbe == 0;
    if (poll) done = context_.poll_one();
    if (done != 0)
      yields_paid_ = 0;
    else
      done = look();
  }
  if (done != 0 || context_.stopped()) return done;
  const Clock::time_point start = Clock::now();
  done = context_.run_one();
  if (longest_ != Clock::duration::zero()) slept(Clock::now() - start);
  return done;
}

std::size_t Runner::look() {
  std::this_thread::yield();  // the peer may be waiting for this very processor
  std::size_t done = context_.poll_one();
  yields_paid_ = done != 0 ? yields_paid_ + 1 : 0;
  if (done != 0) return done;
  const Clock::time_point end = Clock::now() + window_;
  while (done == 0 && !context_.stopped() && Clock::now() < end) {
    std::this_thread::yield();
    done = context_.poll_one();
  }
  return done;
}

/// A sleep that a longer look would have spared makes the window grow; a long one makes it shrink.
void Runner::slept(Clock::duration time) noexcept {
  if (time <= longest_)
    window_ = std::min(std::max(2 * window_, kLeast), longest_);
  else if (window_ > kLeast)
    window_ /= 2;
  else
    window_ = Clock::duration::zero();
}

}  // namespace rpcrdma
