// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/wait_policy.hpp"

namespace rpcrdma {

class Linger;

/// Runs an io_context. Before the thread blocks, it polls the context for the time that a WaitPolicy allows: work that
/// arrives during the poll needs no wake-up, and waking a blocked thread takes most of the latency of a round trip. An
/// idle program uses no CPU.
///
/// Used by one thread at a time, which runs the context, except for counters().
class RPCRDMA_EXPORT Runner {
 public:
  using Clock = WaitPolicy::Clock;

  /// `context` must outlive this object.
  explicit Runner(boost::asio::io_context& context, Polling polling = {});
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// As io_context::run(): until the context is stopped or out of work.
  void run();
  /// As io_context::run_one(): 0 when the context is stopped or out of work.
  std::size_t run_one();

  /// To be called by a handler if work waits for its end: until the next run_one(), Linger does not wait.
  void hasten() noexcept { hastened_ = true; }

  /// Totals since the start.
  struct Counters {
    std::uint64_t polls = 0;   ///< waits, in the event loop or by Linger, that began with polling
    std::uint64_t found = 0;   ///< polls that found work
    std::uint64_t blocks = 0;  ///< waits in which the thread blocked, unless work was ready by then
  };
  /// May be called on any thread.
  Counters counters() const noexcept { return {polls_.load(kRelaxed), found_.load(kRelaxed), blocks_.load(kRelaxed)}; }

  /// Returns true if most waits of the thread begin with a yield of the CPU instead of a poll. This is the case after
  /// several waits in a row in which the first poll after a yield found work, as happens when the peer runs on the same
  /// CPU. In a wait that begins with a yield, work that is already available is delayed until the yield returns. A
  /// thread that polls may begin waits with a yield, too, after several waits in a row in which it found nothing at
  /// once.
  bool yields_first() const noexcept { return yields_paid_ >= kSure; }

 private:
  using Count = std::atomic<std::uint64_t>;  // written by the thread that runs the context
  static constexpr std::memory_order kRelaxed = std::memory_order_relaxed;
  static void count(Count& one) noexcept { one.store(one.load(kRelaxed) + 1, kRelaxed); }

  static constexpr unsigned kSure = 8;
  /// The assumed wake-up time. In Polling::Mode::automatic, the measured time replaces it when the thread has blocked
  /// kOften times.
  static constexpr std::chrono::microseconds kUsualWakeUp{50};
  static constexpr unsigned kOften = 256;

  std::size_t poll();
  std::size_t block();
  template <typename Poll>
  std::size_t spin(Poll poll, Clock::duration& left, unsigned& vain_looks);

  friend Linger;
  class Running;
  /// The longest time that one call of linger() polls. The limit is short, because linger() is called within a handler
  /// and delays the other handlers of the thread.
  static constexpr Clock::duration kLongestLinger = std::chrono::microseconds(100);
  /// Calls `poll(object)` repeatedly until it returns true, for kLongestLinger at most; never blocks. Subtracts the
  /// time of the polls from `left`. Returns whether `poll` returned true. Returns false without calling `poll` if this
  /// object is not running a handler.
  bool linger(bool (*poll)(void*), void* object, Clock::duration& left);

  boost::asio::io_context& context_;
  WaitPolicy policy_;
  bool measures_;
  bool running_ = false;      // a handler is running
  bool polled_ = true;        // the last wait began with polling
  bool hastened_ = false;     // hasten() has been called since run_one() began
  unsigned yields_paid_ = 0;  // how many calls of spin() in a row found work directly after their first yield
  unsigned vain_looks_ = 0;   // how many calls of poll() in a row found nothing before they polled for a time
  unsigned turns_ = 0;
  Count polls_{0};
  Count found_{0};
  Count blocks_{0};
};

}  // namespace rpcrdma
