// SPDX-License-Identifier: BSD-3-Clause
// Operation: the thread in lead() runs the event loop and the jobs. The thread in stand_by() looks at turn_ once per
// kPatience; if the same job still runs, it takes over, and the other thread enters stand_by() after the job. While no
// jobs run, stand_by() sleeps, and the next job wakes it.
// Ownership: the members that only the event loop uses pass from thread to thread with turn_.
// Error handling: jobs report their outcome themselves.
#include "rpcrdma/nfsd/service/loop_threads.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {
namespace {

enum Wake : std::uint32_t {
  kWatching,  // stand_by() looks at turn_ at intervals
  kSleeping,  // stand_by() sleeps until a job or the end wakes it
  kOver,      // the event loop has ended
};

/// stand_by() sleeps when no job has run for this many intervals.
constexpr unsigned kQuiet = 32;
constexpr unsigned kLongestRest = 1023;
/// The event loop gets a turn after this number of jobs, and after kPatience.
constexpr unsigned kBatch = 16;
constexpr std::chrono::seconds kLastHandlers{1};

constexpr bool runs_job(std::uint64_t turn) noexcept { return turn % 2 != 0; }

}  // namespace

void LoopThreads::run() {
  std::thread other;
  try {
    const ExternalSignalsBlocked inherited;
    other = std::thread([this] {
      if (fixed_ != nullptr) fixed_();
      if (stand_by()) drive(true);
    });
  } catch (const std::system_error&) {  // the system permits no more threads: the pool gets all jobs
  }
  if (fixed_ != nullptr) fixed_();
  drive(false);
  if (other.joinable()) other.join();
  // A job may have ended after the event loop. Runs the handlers that it has posted, while their objects still exist.
  // The time is limited, because a peer that keeps sending makes further handlers ready.
  standing_by_.store(false);
  context_.restart();
  const Clock::time_point end = Clock::now() + kLastHandlers;
  while (context_.poll_one() != 0 && Clock::now() < end) {
  }
}

void LoopThreads::drive(bool takes_over) {
  const HandleCodec codec(secret_);
  do {
    // The jobs behind a long one, which may be long too.
    while (takes_over && !jobs_.empty()) pool_.submit(jobs_.pop());
    takes_over = true;
  } while (lead(codec) && stand_by());
}

/// Runs the event loop on this thread. Returns true if the other thread has taken over, and false at the end of the
/// event loop.
bool LoopThreads::lead(const HandleCodec& codec) {
  while (runner_.run_one() != 0) {
    while (!jobs_.empty()) {
      const Clock::time_point end = Clock::now() + kPatience;
      unsigned done = 0;
      for (; done < kBatch && !jobs_.empty() && (done == 0 || Clock::now() < end); ++done)
        if (!run(jobs_.pop(), codec)) return true;
      // Does not use runner_, which may yield the processor first. If no job waits, runs only as many handlers as the
      // replies need, since looking for more takes a system call: one for each reply, and one that sends the replies of
      // a connection if there are several.
      const unsigned most = jobs_.empty() ? 2 * done - 1 : 2 * kBatch;
      for (unsigned n = 0; n < most && context_.poll_one() != 0; ++n) {
      }
    }
  }
  wake_.store(kOver);
  wake_.notify_one();
  return false;
}

/// Runs `job`. Returns whether this thread still runs the event loop afterwards.
bool LoopThreads::run(Job job, const HandleCodec& codec) {
  const std::uint64_t running = turn_.load(std::memory_order_relaxed) + 1;
  turn_.store(running);
  if (std::uint32_t sleeping = kSleeping;
      wake_.load() == sleeping && wake_.compare_exchange_strong(sleeping, kWatching))
    wake_.notify_one();
  try {
    job(codec);
  } catch (...) {  // out of memory: destroying the job answers its call with SYSTEM_ERR
  }
  job = {};
  if (std::uint64_t mine = running; !turn_.compare_exchange_strong(mine, running + 1)) {
    pool_.count_overdue(-1);
    return false;
  }
  rest_ /= 2;
  return true;
}

void LoopThreads::submit(Job job) {
  if (jobs_.size() >= most_ || !standing_by_.load()) return pool_.submit(std::move(job));
  if (skip_ > 0) {
    --skip_;
    return pool_.submit(std::move(job));
  }
  jobs_.push(std::move(job));
  runner_.hasten();
}

/// Waits until a job takes longer than kPatience. Then returns true, and this thread runs the event loop. Returns false
/// when the event loop has ended.
bool LoopThreads::stand_by() {
  standing_by_.store(true);
  std::uint64_t seen = turn_.load();
  for (unsigned quiet = 0;;) {
    if (quiet < kQuiet) {
      std::this_thread::sleep_for(kPatience);
    } else {
      sleep_until_next(seen);
      quiet = 0;
    }
    if (wake_.load() == kOver) return false;
    const std::uint64_t now = turn_.load();
    if (now == seen && runs_job(now) && take_over(now)) return true;
    quiet = now == seen ? quiet + 1 : 0;
    seen = now;
  }
}

/// Takes the event loop over from the thread that runs the job of `turn`. Returns false if the job has ended.
bool LoopThreads::take_over(std::uint64_t turn) noexcept {
  // Comes first: when the job has ended, its thread sets the flag again.
  standing_by_.store(false);
  pool_.count_overdue(1);
  if (!turn_.compare_exchange_strong(turn, turn + 1)) {
    pool_.count_overdue(-1);
    standing_by_.store(true);
    return false;
  }
  skip_ = rest_ = std::min(2 * rest_ + 1, kLongestRest);
  return true;
}

/// Sleeps until turn_ differs from `turn`, or until the event loop ends.
void LoopThreads::sleep_until_next(std::uint64_t turn) noexcept {
  if (std::uint32_t watching = kWatching; !wake_.compare_exchange_strong(watching, kSleeping)) return;
  while (turn_.load() == turn && wake_.load() == kSleeping) wake_.wait(kSleeping);
  std::uint32_t sleeping = kSleeping;
  wake_.compare_exchange_strong(sleeping, kWatching);
}

}  // namespace rpcrdma::nfsd
