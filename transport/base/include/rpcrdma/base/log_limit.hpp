// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace rpcrdma {

/// Bounds the log lines that a peer can cause: at most kMost in each period. On one thread.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;            ///< of the periods
  static constexpr std::uint32_t kMost = 20;          ///< lines in a period
  static constexpr std::chrono::seconds kPeriod{10};  ///< begins with its first line

  /// Whether a line may be written at `now`: then the number of lines left out since the last one that was written.
  std::optional<std::uint64_t> admit(Clock::time_point now) noexcept {
    if (written_ == 0 || now - begun_ >= kPeriod) {
      begun_ = now;
      written_ = 0;
    }
    if (written_ == kMost) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    return std::exchange(left_out_, 0);
  }

 private:
  Clock::time_point begun_;
  std::uint32_t written_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace rpcrdma
