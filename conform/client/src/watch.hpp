// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Rules that hold for every message of a client. Each connection of a run reports its messages here; the family
// "always", which runs last, has a case for each rule.
#include <array>
#include <cstddef>
#include <string>

namespace rpcrdma::conform::client {

enum class Always : std::size_t {
  decodable,
  version_one,
  no_error,
  no_msgp,
  no_done,
  payload_xid,
  within_threshold,
  within_grant,
  within_request,
  one_before_the_first_reply,
  unique_xid,
  credits_requested,
  nomsg_has_a_chunk,
  aligned_positions,
  eligible_arguments,
  eligible_results,
  large_write_chunk,
  reserved_bits,
  fresh_handles,
  count  ///< not a rule
};

/// Counts messages and broken rules over all connections of all runs.
class Watch {
 public:
  void message() noexcept { ++messages_; }
  /// Records that a message breaks a rule. Keeps the first and the last description.
  void broken(Always rule, const std::string& how) {
    Entry& entry = entries_[static_cast<std::size_t>(rule)];
    entry.last = case_ + ": " + how;
    if (entry.times++ == 0) entry.first = entry.last;
  }
  /// Sets the case to which later reports belong.
  void begin(std::string id) { case_ = std::move(id); }
  std::size_t messages() const noexcept { return messages_; }
  std::size_t times(Always rule) const noexcept { return entries_[static_cast<std::size_t>(rule)].times; }
  const std::string& last(Always rule) const noexcept { return entries_[static_cast<std::size_t>(rule)].last; }
  const std::string& first(Always rule) const noexcept { return entries_[static_cast<std::size_t>(rule)].first; }

 private:
  struct Entry {
    std::size_t times = 0;
    std::string first, last;
  };
  std::array<Entry, static_cast<std::size_t>(Always::count)> entries_;
  std::size_t messages_ = 0;
  std::string case_;
};

}  // namespace rpcrdma::conform::client
