// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "rpcrdma/ipoib/link/ip_address.hpp"

namespace rpcrdma::ipoib {

class Peer;

/// Which peer has an address: takes the place of ARP and neighbour discovery. An entry may cover a range.
class Neighbours {
 public:
  /// Replaces an entry for the same range.
  void add(const IpPrefix& addresses, Peer& peer);
  /// The peer of the longest range that contains `address`, or null.
  Peer* find(const IpBytes& address) const noexcept;
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    IpBytes address;
    IpBytes mask;
    unsigned bits;
    Peer* peer;
  };
  std::vector<Entry> entries_;  // longest prefix first
};

}  // namespace rpcrdma::ipoib
