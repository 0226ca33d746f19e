// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <map>
#include <vector>

#include "rpcrdma/ipoib/link/ip_address.hpp"

namespace rpcrdma::ipoib {

class Peer;

/// Maps addresses to peers, in place of ARP and neighbour discovery. An entry may cover a range.
class Neighbours {
 public:
  struct Entry {
    Peer* peer;
    bool learnt = false;  ///< learnt from a packet: the address may move to another peer, or be forgotten
    IpBytes host{};       ///< the peer's address on the fabric, if `learnt`
  };

  /// Adds an entry, or replaces the entry for the same range.
  void add(const IpPrefix& addresses, Peer& peer);
  /// Adds an entry for an address that has been learnt from a packet, or replaces the entry for this address. `host` is
  /// the address of the peer on the fabric.
  void learn(const IpBytes& address, Peer& peer, const IpBytes& host);
  /// Removes the addresses learnt for `peer`.
  void forget(const Peer& peer) noexcept;
  /// The entry with the longest prefix that matches `address`, or null.
  Entry* find(const IpBytes& address) noexcept;
  /// learnt() returns the number of learnt addresses of all peers. learnt_at() returns this number for the peers at
  /// `host` alone.
  std::size_t learnt() const noexcept { return learnt_; }
  std::size_t learnt_at(const IpBytes& host) const noexcept;
  /// The number of entries.
  std::size_t size() const noexcept { return hosts_.size() + ranges_.size(); }

 private:
  struct Range {
    IpBytes address;
    IpBytes mask;
    unsigned bits;
    bool is_v4;
    Entry entry;
  };

  void put(const IpBytes& address, const Entry& entry);
  void count_out(const Entry& entry) noexcept;

  std::map<IpBytes, Entry> hosts_;  // entries for single addresses
  std::map<IpBytes, std::size_t> learnt_at_;
  std::size_t learnt_ = 0;
  std::vector<Range> ranges_;  // longest prefix first
};

}  // namespace rpcrdma::ipoib
