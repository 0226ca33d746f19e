// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "rpcrdma/ipoib/link/ip_address.hpp"

namespace rpcrdma::ipoib {

class Peer;

/// Which peer has an address: takes the place of ARP and neighbour discovery. An entry may cover a range.
class Neighbours {
 public:
  struct Entry {
    IpBytes address;
    IpBytes mask;
    unsigned bits;
    bool is_v4;
    Peer* peer;
    bool learnt;  ///< from a packet: it may go to another peer, or be forgotten
  };

  /// Replaces an entry for the same range.
  void add(const IpPrefix& addresses, Peer& peer, bool learnt = false);
  /// Removes what was learnt of `peer`.
  void forget(const Peer& peer) noexcept;
  /// The entry of the longest range that contains `address`, or null.
  Entry* find(const IpBytes& address) noexcept;
  const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;  // longest prefix first
};

}  // namespace rpcrdma::ipoib
