// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <algorithm>
#include <thread>

namespace rpcrdma {
namespace {

/// The first window, and the least before it is given up.
constexpr Runner::Clock::duration kLeast = std::chrono::microseconds(5);
/// While it yields before it polls, it polls first once in so many turns.
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

/// The peer may be waiting for this very processor. If somebody has it for long who is no peer, the thread had
/// better sleep: who wakes has a claim to the processor, who yields has none.
std::size_t Runner::give_way() {
  const Clock::time_point start = Clock::now();
  std::this_thread::yield();
  const Clock::duration away = Clock::now() - start;
  if (away > longest_) slept(away);
  const std::size_t done = context_.poll_one();
  yields_paid_ = done != 0 && away <= longest_ ? yields_paid_ + 1 : 0;
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
