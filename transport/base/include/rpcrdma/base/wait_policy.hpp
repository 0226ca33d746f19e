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
/// Two threads that answer each other save wake-ups if both poll. A poll must last longer than the other thread takes
/// to wake up. If it does not, it finds nothing and the thread blocks. The next poll of the other thread then finds
/// nothing either, and both threads block in each turn. Therefore, in Polling::Mode::automatic, a poll lasts for two
/// wake-up times and the time of a short call.
///
/// In this mode, an allowance decides whether the thread polls; the length of past waits does not matter. A poll that
/// finds nothing subtracts its duration from the allowance. A poll that finds work adds the wake-up time that it saved.
/// In addition, the allowance grows by 2 % of the elapsed time, up to a limit. A thread that mostly sleeps therefore
/// still polls now and then, and continues to poll if its polls find work. The polls that find nothing cost at most 2 %
/// of a processor, one wake-up time for each poll that found work, and the allowance at the start.
///
/// A thread that yields the processor while it polls, and does not get it back within `kDisplaced`, competes with a
/// busy thread. It then blocks in each wait without a poll, because the scheduler favours a thread that wakes up. This
/// pause lasts for eight times as long as the thread was without the processor, or for a minimum if that is longer, but
/// for at most a second. The minimum for the next pause is twice the last pause. It shrinks with each poll that finds
/// work.
class RPCRDMA_EXPORT WaitPolicy {
 public:
  using Clock = std::chrono::steady_clock;  ///< the caller's clock
  using Duration = Clock::duration;         ///< a duration of the caller's clock
  using TimePoint = Clock::time_point;      ///< a time of the caller's clock

  /// The least time without the processor after a yield that counts as a sign of competition with another thread.
  static constexpr Duration kDisplaced = std::chrono::microseconds(500);

  /// Makes the policy of one thread; `now` is the present time. `wake_up` is the wake-up time of the machine: the time
  /// from an event until a thread that has blocked for this event runs.
  WaitPolicy(Polling polling, Duration wake_up, TimePoint now) noexcept;

  /// Replaces the wake-up time by a better measurement.
  void set_wake_up(Duration wake_up) noexcept;
  /// Returns how long the thread is to poll in the wait that begins at `now`, before it blocks. Zero means to block at
  /// once.
  Duration window(TimePoint now) noexcept;
  /// The caller reports that the poll which window() allowed has found work.
  void found() noexcept;
  /// The caller reports that the poll which window() allowed has lasted for `polled` and has found no work.
  void missed(Duration polled) noexcept;
  /// The caller reports that the thread has lost the processor during a poll, and has it again at `now`. `lost` is the
  /// time for which it was without the processor, at least kDisplaced.
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
