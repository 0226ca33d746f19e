// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

/// How a thread waits for work.
struct Polling {
  using Duration = std::chrono::nanoseconds;  ///< the length of a poll
  /// How the time of a poll is chosen.
  enum class Mode {
    automatic,  ///< WaitPolicy decides from the results of earlier polls
    off,        ///< never polls
    fixed,      ///< polls for `time` in each wait, but pauses after another thread took the processor
  };

  Mode mode = Mode::automatic;  ///< how the time of a poll is chosen
  Duration time{};              ///< for Mode::fixed only

  /// Never polls.
  static Polling off() noexcept { return {Mode::off, {}}; }
  /// Polls for `time` in each wait: Mode::fixed.
  static Polling fixed(Duration time) noexcept { return {Mode::fixed, time}; }

  friend bool operator==(const Polling&, const Polling&) = default;
};

/// Parses the value of the option --poll: "auto", "off", or the number of microseconds to poll in each wait, 1 to
/// 1000000. Returns nothing for other text.
RPCRDMA_EXPORT std::optional<Polling> parse_polling(std::string_view text) noexcept;

/// Decides, for one thread, how long to poll before it blocks. It has no clock and measures nothing: the caller passes
/// the time and the result of each poll.
///
/// Two threads that answer each other save wake-ups if they poll. But if a thread polls for less time than its peer
/// takes to wake up, it finds nothing and blocks; the peer's next poll then finds nothing either, and both threads
/// block in every turn. Therefore, in Polling::Mode::automatic, a poll lasts two wake-ups and the time of a short call.
/// Whether to poll depends on an allowance, not on the length of past waits. A poll that finds nothing consumes
/// allowance; a poll that finds work adds the wake-up time that it saved; and 2 % of the elapsed time is added. So a
/// thread that mostly sleeps still polls now and then, and continues if its polls find work. Polls that find nothing
/// cost at most 2 % of a processor, the time of one wake-up for each poll that found work, and the allowance at the
/// start.
///
/// If a thread yields the processor and does not get it back within `kDisplaced`, it competes with a busy thread. It
/// then does not poll but blocks in each wait, as the scheduler favours a thread that wakes up. This pause lasts at
/// least eight times as long as the thread was without the processor, but at most a second. Its least length doubles
/// with each pause, and shrinks with each poll that finds work.
class RPCRDMA_EXPORT WaitPolicy {
 public:
  using Clock = std::chrono::steady_clock;  ///< the caller's clock
  using Duration = Clock::duration;         ///< a duration of the caller's clock
  using TimePoint = Clock::time_point;      ///< a time of the caller's clock

  /// A thread that yields and is without the processor for this long competes with another thread.
  static constexpr Duration kDisplaced = std::chrono::microseconds(500);

  /// `wake_up` is the time from an event until the thread that waits for it runs.
  WaitPolicy(Polling polling, Duration wake_up, TimePoint now) noexcept;

  /// Replaces the wake-up time by a better measurement.
  void set_wake_up(Duration wake_up) noexcept;
  /// How long to poll in the wait that begins: zero means to block at once.
  Duration window(TimePoint now) noexcept;
  /// The poll that window() allowed has found work.
  void found() noexcept;
  /// The poll that window() allowed has found nothing for `polled`.
  void missed(Duration polled) noexcept;
  /// While polling, the thread lost its processor, and has got it back at `now`, after `lost`: kDisplaced or longer.
  void displaced(TimePoint now, Duration lost) noexcept;

 private:
  Polling polling_;
  Duration wake_up_{};
  Duration window_{};
  Duration allowance_{};
  TimePoint last_;
  TimePoint blocks_until_;
  Duration pause_{};
};

/// The time to wake a thread on this machine: the median delay between the end of a short sleep and the moment at which
/// the thread runs. The first call in a process measures it, in about 3 ms. May be called on any thread.
RPCRDMA_EXPORT WaitPolicy::Duration measured_wake_up() noexcept;

}  // namespace rpcrdma
