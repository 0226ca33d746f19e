// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <thread>

namespace rpcrdma {
namespace {

/// While yields_first() holds, every kProbe-th turn still begins with a poll.
constexpr unsigned kProbe = 16;
/// Polls between two yields.
constexpr unsigned kPollsPerYield = 4;

}  // namespace

void Runner::run() {
  while (run_one() != 0) {
  }
}

std::size_t Runner::run_one() {
  std::size_t done = 0;
  if (!yields_first() || ++turns_ % kProbe == 0) done = context_.poll_one();
  if (done != 0) {
    yields_paid_ = 0;
    return done;
  }
  if (!context_.stopped()) done = poll();
  return done != 0 || context_.stopped() ? done : block();
}

/// Yields before the first poll and between polls: the peer may be waiting for this CPU.
std::size_t Runner::poll() {
  const Clock::time_point start = Clock::now();
  const Clock::duration window = policy_.window(start);
  if (window <= Clock::duration::zero()) {
    yields_paid_ = 0;
    return 0;
  }
  count(polls_);
  std::size_t done = 0;
  Clock::time_point now = start;
  for (unsigned turn = 0; now - start < window; ++turn) {
    if (turn % kPollsPerYield == 0) {
      std::this_thread::yield();
      const Clock::time_point back = Clock::now();
      if (back - now >= WaitPolicy::kDisplaced) {
        policy_.displaced(back);
        yields_paid_ = 0;
        return context_.poll_one();
      }
    }
    done = context_.poll_one();
    if (turn == 0) yields_paid_ = done != 0 ? yields_paid_ + 1 : 0;
    if (done != 0) {
      policy_.found();
      count(found_);
      return done;
    }
    if (context_.stopped()) return 0;
    now = Clock::now();
  }
  policy_.missed(now - start);
  return 0;
}

std::size_t Runner::block() {
  count(blocks_);
  if (measures_ && blocks_.load(kRelaxed) == kOften) {
    measures_ = false;
    policy_.set_wake_up(measured_wake_up());
  }
  return context_.run_one();
}

}  // namespace rpcrdma
