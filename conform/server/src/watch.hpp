// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Rules that hold for every message of a server. Each connection of a run reports its messages here; the family
// "always", which runs last, has a case for each rule.
#include <array>
#include <cstddef>
#include <string>

namespace rpcrdma::conform {

/// Rules about every message that a server sends.
enum class Always : std::size_t {
  credit_not_zero,
  read_list_empty,
  within_threshold,
  decodable,
  no_msgp,
  no_done,
  known_xid,
  same_version,
  payload_xid,
  chunks_returned,
  no_growth,
  no_uninvited_invalidation,
  own_invalidation,
  nomsg_in_reply_chunk,
  count  ///< not a rule
};

/// Counts the messages, and the breaches of each rule, over all connections of a run.
class Watch {
 public:
  void message() noexcept { ++messages_; }
  /// Records that a message breaks a rule. Keeps the first description.
  void broken(Always rule, const std::string& how) {
    Entry& entry = entries_[static_cast<std::size_t>(rule)];
    if (entry.times++ == 0) entry.first = how;
  }
  std::size_t messages() const noexcept { return messages_; }
  std::size_t times(Always rule) const noexcept { return entries_[static_cast<std::size_t>(rule)].times; }
  const std::string& first(Always rule) const noexcept { return entries_[static_cast<std::size_t>(rule)].first; }

 private:
  struct Entry {
    std::size_t times = 0;
    std::string first;
  };
  std::array<Entry, static_cast<std::size_t>(Always::count)> entries_;
  std::size_t messages_ = 0;
};

}  // namespace rpcrdma::conform
