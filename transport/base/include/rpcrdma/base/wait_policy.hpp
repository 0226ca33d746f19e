// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

/// How a thread waits for work.
struct Polling {
  using Duration = std::chrono::nanoseconds;  ///< of a poll
  /// Who decides how long a thread polls before it blocks.
  enum class Mode {
    automatic,  ///< WaitPolicy, by what polls have brought
    off,        ///< nobody: it never polls
    fixed,      ///< `time`
  };

  Mode mode = Mode::automatic;  ///< of this thread
  Duration time{};              ///< of Mode::fixed: polls as long in each wait

  /// Never polls.
  static Polling off() noexcept { return {Mode::off, {}}; }
  /// Polls for `time` in each wait.
  static Polling fixed(Duration time) noexcept { return {Mode::fixed, time}; }

  friend bool operator==(const Polling&, const Polling&) = default;
};

/// What --poll and the options of that name take: "auto", "off", or the microseconds to poll in each wait, 1 to
/// 1000000. Nothing for other text.
RPCRDMA_EXPORT std::optional<Polling> parse_polling(std::string_view text) noexcept;

/// Decides, for one thread, how long to poll before it blocks. It has no clock and measures nothing: the caller tells
/// it the time and what came of each wait.
///
/// Two threads that answer each other wait for a wake-up less if they poll: but a thread that polls for less than its
/// peer's wake-up finds nothing while that peer sleeps, and both would sleep for ever. Therefore a poll lasts two
/// wake-ups and the time of a short call, and whether to poll is a question of an allowance, never of how long past
/// waits took: polls that find nothing consume it; a poll that finds work adds the wake-up that it has saved; and 2 %
/// of the time that passes is added to it. So a thread that sleeps polls now and then, and continues if that pays;
/// polls that find nothing cost 2 % of a processor and one wake-up per poll that pays, at most.
///
/// A thread that yields the processor and does not get it back within `kDisplaced` competes with one that computes. It
/// blocks at once for a while, as the scheduler favours a thread that wakes up.
class RPCRDMA_EXPORT WaitPolicy {
 public:
  using Clock = std::chrono::steady_clock;  ///< of the caller
  using Duration = Clock::duration;         ///< likewise
  using TimePoint = Clock::time_point;      ///< likewise

  /// A thread that has been without the processor for so long competes for it.
  static constexpr Duration kDisplaced = std::chrono::microseconds(500);

  /// `wake_up` is what it costs to wake a thread, from the event until the thread runs.
  WaitPolicy(Polling polling, Duration wake_up, TimePoint now) noexcept;

  /// A better measurement of the wake-up.
  void set_wake_up(Duration wake_up) noexcept;
  /// How long to poll in the wait that begins: zero means to block at once.
  Duration window(TimePoint now) noexcept;
  /// That poll has found work.
  void found() noexcept;
  /// That poll has found nothing for `polled`.
  void missed(Duration polled) noexcept;
  /// While polling, the thread was without its processor for kDisplaced or longer.
  void displaced(TimePoint now) noexcept;

 private:
  Polling polling_;
  Duration wake_up_{};
  Duration window_{};
  Duration allowance_{};
  TimePoint last_;
  TimePoint blocks_until_;
  Duration pause_{};
};

/// What it costs to wake a thread on this machine: the median of how much later than asked for a thread runs after it
/// has slept for a moment. Measured by the first call in a process, which takes about 3 ms. Any thread.
RPCRDMA_EXPORT WaitPolicy::Duration measured_wake_up() noexcept;

}  // namespace rpcrdma
