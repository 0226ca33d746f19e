// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace rpcrdma {

/// Bounds the log lines that peers can cause. Peers are divided into groups, and there are at most kMost lines about
/// the peers of a group in each period: a peer that causes many lines does not suppress those about the other groups.
/// Used on one thread.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;            ///< measures the periods
  static constexpr std::uint32_t kMost = 20;          ///< the most lines in a period about one group
  static constexpr std::size_t kGroups = 8;           ///< groups of peers
  static constexpr std::chrono::seconds kPeriod{10};  ///< the length of a period, which begins with its first line

  /// Returns nothing if no line may be written at `now` about a peer of the group `peer` modulo kGroups. Otherwise
  /// returns the number of lines about the peer's group that have been left out since the last written line.
  std::optional<std::uint64_t> admit(Clock::time_point now, std::size_t peer = 0) noexcept {
    Group& group = groups_[peer % kGroups];
    if (group.written == 0 || now - group.begun >= kPeriod) {
      group.begun = now;
      group.written = 0;
    }
    if (group.written == kMost) {
      ++group.left_out;
      return std::nullopt;
    }
    ++group.written;
    return std::exchange(group.left_out, 0);
  }

 private:
  struct Group {
    Clock::time_point begun;
    std::uint32_t written = 0;
    std::uint64_t left_out = 0;
  };
  std::array<Group, kGroups> groups_{};
};

}  // namespace rpcrdma
