// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

/// Runs an io_context and polls it for a while before it blocks: work that arrives meanwhile is spared the wake-up,
/// which is most of the latency of a round trip. The polling time adapts: it grows when work arrives soon after
/// blocking, and falls to zero when work is rare, so that an idle program uses no CPU.
///
/// Used by the one thread that runs the context. `longest` bounds the polling time; zero disables polling.
class RPCRDMA_EXPORT Runner {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Runner(boost::asio::io_context& context, Clock::duration longest = std::chrono::microseconds(50)) noexcept
      : context_(context), longest_(longest) {}

  /// As io_context::run(): until it is stopped or out of work.
  void run();
  /// As io_context::run_one(): 0 when the context is stopped or out of work.
  std::size_t run_one();

  /// The current polling time.
  Clock::duration window() const noexcept { return window_; }
  /// Whether it yields the CPU before it polls: true after yields have repeatedly produced work at once, as when the
  /// peer runs on the same CPU. Work that is ready waits for the yield.
  bool yields_first() const noexcept { return window_ != Clock::duration::zero() && yields_paid_ >= kSure; }

 private:
  static constexpr unsigned kSure = 8;

  std::size_t look();
  std::size_t give_way();
  void slept(Clock::duration time) noexcept;

  boost::asio::io_context& context_;
  const Clock::duration longest_;
  Clock::duration window_{};
  unsigned yields_paid_ = 0;  // polls in a row that found work only after yielding the CPU
  unsigned turns_ = 0;
};

}  // namespace rpcrdma
