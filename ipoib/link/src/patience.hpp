// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

namespace rpcrdma::ipoib {

/// Limits the total time for which a peer without room may stop the reading of the device to `most`. The peer regains a
/// tenth of the time between stops. Short stops do not count: they are normal with a peer as fast as this host.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShort{5};

  explicit Patience(Clock::duration most) noexcept : most_(most), left_(most) {}

  /// The time by which a stop that begins now must end; nothing if the remaining time is too short for a stop.
  std::optional<Clock::time_point> begin(Clock::time_point now) noexcept {
    left_ = std::min(most_, left_ + (now - since_) / 10);
    since_ = now;
    if (left_ < most_ / 8) return std::nullopt;
    return now + left_ + kShort;
  }
  /// Reports that the stop has ended.
  void end(Clock::time_point now) noexcept {
    left_ -= std::clamp<Clock::duration>(now - since_ - kShort, {}, left_);
    since_ = now;
  }

 private:
  const Clock::duration most_;
  Clock::duration left_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace rpcrdma::ipoib
