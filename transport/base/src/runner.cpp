// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "rpcrdma/base/linger.hpp"

namespace rpcrdma {
namespace {

/// While a poll at the beginning of spin() is left out, every kProbe-th call still makes it.
constexpr unsigned kProbe = 16;
/// The number of polls between two yields.
constexpr unsigned kPollsPerYield = 4;

}  // namespace

/// Sets Runner::running_ while handlers of the context run. May be nested: a handler may itself run the context.
class Runner::Running {
 public:
  explicit Running(Runner& runner) noexcept : flag_(runner.running_), before_(std::exchange(flag_, true)) {}
  ~Running() { flag_ = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
  const bool before_;
};

Runner::Runner(boost::asio::io_context& context, Polling polling)
    : context_(context),
      policy_(polling, kUsualWakeUp, Clock::now()),
      measures_(polling.mode == Polling::Mode::automatic) {
  Linger::attach(context_, *this);
}

Runner::~Runner() { Linger::detach(context_, *this); }

void Runner::run() {
  while (run_one() != 0) {
  }
}

std::size_t Runner::run_one() {
  hastened_ = false;
  const std::size_t done = poll();
  return done != 0 || context_.stopped() ? done : block();
}

std::size_t Runner::poll() {
  // While the policy permits no polling, does not look for work either, since block() also finds work that is ready.
  if (!polled_ && policy_.window(Clock::now()) <= Clock::duration::zero()) return 0;
  const auto poll_once = [this] {
    const Running running(*this);
    return context_.poll_one();
  };
  Clock::duration left = Clock::duration::max();
  return spin(poll_once, left, vain_looks_);
}

bool Runner::linger(bool (*look)(void*), void* object, Clock::duration& left) {
  if (!running_) return false;
  Clock::duration rest = kLongestLinger;
  unsigned vain_looks = 0;
  const bool found = spin([&]() -> std::size_t { return look(object) ? 1 : 0; }, rest, vain_looks) != 0;
  left -= kLongestLinger - rest;
  return found;
}

/// Polls for work by calling `look`, at most until the polling window is over. The WaitPolicy determines the window,
/// and `left` limits it. Within the window, yields the CPU before the first poll and after every kPollsPerYield polls,
/// because the peer may be waiting for this CPU. Subtracts the time of the polls from `left`. `vain_looks` counts the
/// calls in a row that found nothing when they polled before the window. After kSure of them, most calls do not.
template <typename Poll>
std::size_t Runner::spin(Poll look, Clock::duration& left, unsigned& vain_looks) {
  if ((!yields_first() && vain_looks < kSure) || ++turns_ % kProbe == 0) {
    if (const std::size_t done = look(); done != 0) {
      yields_paid_ = 0;
      vain_looks = 0;
      return done;
    }
    ++vain_looks;
  }
  const Clock::time_point start = Clock::now();
  const Clock::duration window = std::min<Clock::duration>(policy_.window(start), left);
  polled_ = window > Clock::duration::zero();
  if (!polled_) {
    yields_paid_ = 0;
    return 0;
  }
  count(polls_);
  Clock::time_point now = start;
  for (unsigned turn = 0; now - start < window; ++turn) {
    if (turn % kPollsPerYield == 0) {
      std::this_thread::yield();
      const Clock::duration away = Clock::now() - now;
      now += away;
      if (away >= WaitPolicy::kDisplaced) {
        policy_.displaced(now, away);
        yields_paid_ = 0;
        left -= now - start;
        return look();
      }
    }
    const std::size_t done = look();
    if (turn == 0) yields_paid_ = done != 0 ? yields_paid_ + 1 : 0;
    if (done != 0) {
      policy_.found();
      count(found_);
      left -= now - start;
      return done;
    }
    if (context_.stopped()) return 0;
    now = Clock::now();
  }
  policy_.missed(now - start);
  left -= now - start;
  return 0;
}

std::size_t Runner::block() {
  count(blocks_);
  if (measures_ && blocks_.load(kRelaxed) == kOften) {
    measures_ = false;
    policy_.set_wake_up(measured_wake_up());
  }
  const Running running(*this);
  return context_.run_one();
}

}  // namespace rpcrdma
