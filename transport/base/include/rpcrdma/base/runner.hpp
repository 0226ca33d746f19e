// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>

namespace rpcrdma {

/// Runs an io_context, and before it sleeps looks for work for a while: what comes in that time is spared the wake-up,
/// which on a round trip is most of the time. How long it looks adapts itself: longer when work came soon after it went
/// to sleep, not at all where it comes seldom; so an idle program uses no processor time.
///
/// For the thread that runs the context, alone. `longest` bounds the looking; zero never looks.
class Runner {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Runner(boost::asio::io_context& context, Clock::duration longest = std::chrono::microseconds(50)) noexcept
      : context_(context), longest_(longest) {}

  /// As io_context::run(): until it is stopped or out of work.
  void run();
  /// As io_context::run_one(): 0 when the context is stopped or out of work.
  std::size_t run_one();

  /// How long it looks at present.
  Clock::duration window() const noexcept { return window_; }

 private:
  std::size_t look();
  void slept(Clock::duration time) noexcept;

  boost::asio::io_context& context_;
  const Clock::duration longest_;
  Clock::duration window_{};
  unsigned yields_paid_ = 0;  // how often in a row there was nothing until the processor had been given away
  unsigned turns_ = 0;
};

}  // namespace rpcrdma
