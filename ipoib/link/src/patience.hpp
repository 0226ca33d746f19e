// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

namespace rpcrdma::ipoib {

/// How long a peer without room may stop the reading of the device, which all share: `most` in total, of which it gets
/// a tenth of the time back that passes. A stop that is short, as they are with a peer that is as fast as this host, is
/// not counted.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShort{5};

  explicit Patience(Clock::duration most) noexcept : most_(most), left_(most) {}

  /// When a stop that begins now has to end; none may begin if too little is left.
  std::optional<Clock::time_point> begin(Clock::time_point now) noexcept {
    left_ = std::min(most_, left_ + (now - since_) / 10);
    since_ = now;
    if (left_ < most_ / 8) return std::nullopt;
    return now + left_ + kShort;
  }
  /// The stop has ended.
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
