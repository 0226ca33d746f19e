// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace rpcrdma {

/// Limits the number of log lines that peers can cause. The peers are divided into kGroups groups. In each period, at
/// most kMost lines about the peers of one group may be written. A peer that causes many lines can therefore suppress
/// lines about peers of its own group, but none about other groups. Used on one thread.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;            ///< measures the periods
  static constexpr std::uint32_t kMost = 20;          ///< the most lines in a period about one group
  static constexpr std::size_t kGroups = 8;           ///< the number of groups into which the peers are divided
  static constexpr std::chrono::seconds kPeriod{10};  ///< the length of a period, which begins with its first line

  /// To be called before a line about a peer is written. `peer` is the same number for all lines about one peer; `peer`
  /// modulo kGroups is its group. Returns nothing if the line must be left out, because the group has had kMost lines
  /// in this period. Otherwise the line may be written, and the result is the number of lines about the group that have
  /// been left out since its last written line.
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
