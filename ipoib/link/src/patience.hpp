// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

namespace rpcrdma::ipoib {

/// Limits the time for which one peer can stop the link from reading its device. The link stops while the peer has no
/// room for a packet. The peer may stop the link for `most` in total. While it does not stop the link, it regains a
/// tenth of the elapsed time, up to `most`. The first kShort of each stop is not counted, because short stops are
/// normal with a peer as fast as this host.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShort{5};

  explicit Patience(Clock::duration most) noexcept : most_(most), left_(most) {}

  /// Asks to stop the reading of the device now. Returns the time by which the stop must end. Returns nothing if the
  /// peer has less than an eighth of `most` left, which is too short for a stop.
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
