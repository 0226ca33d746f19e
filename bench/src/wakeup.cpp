// SPDX-License-Identifier: BSD-3-Clause
#include "wakeup.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kRoundTrips = 1000;
constexpr std::uint32_t kUncounted = 100;

/// A turn that two threads take alternately. They sleep at once, without polling first as std::atomic::wait() does.
class Turn {
 public:
  void wait_for(std::uint32_t value) {
    for (;;) {
      const std::uint32_t now = turn_.load(std::memory_order_acquire);
      if (now == value) return;
      ::syscall(SYS_futex, &turn_, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
    }
  }
  void pass_to(std::uint32_t value) {
    turn_.store(value, std::memory_order_release);
    ::syscall(SYS_futex, &turn_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::atomic<std::uint32_t> turn_{0};
};

}  // namespace

WakeUp measure_wakeup(Placement placement) {
  const auto processors = processors_of(placement);
  Turn turn;
  std::vector<double> samples;
  std::thread answers([&] {
    if (processors) run_on(processors->first);
    for (std::uint32_t i = 0; i < kRoundTrips; ++i) {
      turn.wait_for(1);
      turn.pass_to(0);
    }
  });
  std::thread asks([&] {
    if (processors) run_on(processors->second);
    for (std::uint32_t i = 0; i < kRoundTrips; ++i) {
      const auto start = Clock::now();
      turn.pass_to(1);
      turn.wait_for(0);
      if (i >= kUncounted) samples.push_back(microseconds(Clock::now() - start) / 2);
    }
  });
  answers.join();
  asks.join();
  std::ranges::sort(samples);
  return {samples[samples.size() / 2], samples[samples.size() * 9 / 10]};
}

}  // namespace rpcrdma::bench
