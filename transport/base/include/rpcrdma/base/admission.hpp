// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <map>

namespace rpcrdma {

/// Counts connections, in total and per peer address (without the port). Not synchronized.
class Admission {
 public:
  Admission(std::uint32_t total, std::uint32_t per_peer) noexcept : max_total_(total), max_per_peer_(per_peer) {}

  /// Counts a connection; at a limit returns false and counts nothing.
  bool enter(const boost::asio::ip::address& peer) {
    if (total_ >= max_total_) return false;
    std::uint32_t& count = peers_[peer];
    if (count >= max_per_peer_) {
      if (count == 0) peers_.erase(peer);
      return false;
    }
    ++count;
    ++total_;
    return true;
  }
  /// Counts a new connection of `peer` even if a limit is reached. Use it for a connection that replaces an older one.
  /// The older connection is ending, but is still counted until leave() is called for it.
  void enter_instead(const boost::asio::ip::address& peer) {
    ++peers_[peer];
    ++total_;
  }
  /// True if `peer` is at its own limit: then it can have a new connection only if one of its connections ends.
  bool full_for(const boost::asio::ip::address& peer) const noexcept {
    const auto at = peers_.find(peer);
    return (at == peers_.end() ? 0 : at->second) >= max_per_peer_;
  }
  void leave(const boost::asio::ip::address& peer) noexcept {
    const auto at = peers_.find(peer);
    if (at == peers_.end()) return;
    --total_;
    if (--at->second == 0) peers_.erase(at);
  }
  std::uint32_t total() const noexcept { return total_; }

 private:
  std::uint32_t max_total_;
  std::uint32_t max_per_peer_;
  std::uint32_t total_ = 0;
  std::map<boost::asio::ip::address, std::uint32_t> peers_;
};

}  // namespace rpcrdma
