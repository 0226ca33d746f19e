// SPDX-License-Identifier: BSD-3-Clause
#include "neighbours.hpp"

#include <algorithm>

namespace rpcrdma::ipoib {
namespace {

IpBytes masked(const IpBytes& address, const IpBytes& mask) noexcept {
  IpBytes out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = address[i] & mask[i];
  return out;
}

IpBytes mask_of(unsigned bits) noexcept {
  IpBytes out{};
  for (std::size_t i = 0; i < out.size() && bits != 0; ++i) {
    const unsigned here = std::min(bits, 8u);
    out[i] = static_cast<std::byte>(0xff << (8 - here));
    bits -= here;
  }
  return out;
}

}  // namespace

void Neighbours::add(const IpPrefix& addresses, Peer& peer, bool learnt) {
  const unsigned bits = addresses.length + (addresses.address.is_v4() ? 96u : 0u);
  const IpBytes mask = mask_of(bits);
  const Entry entry{masked(ip_bytes(addresses.address), mask), mask, bits, addresses.address.is_v4(), &peer, learnt};
  const auto same = [&](const Entry& other) {
    return other.bits == bits && other.is_v4 == entry.is_v4 && other.address == entry.address;
  };
  if (const auto found = std::ranges::find_if(entries_, same); found != entries_.end()) {
    *found = entry;
    return;
  }
  const auto at = std::ranges::upper_bound(entries_, bits, std::ranges::greater(), &Entry::bits);
  entries_.insert(at, entry);
}

void Neighbours::forget(const Peer& peer) noexcept {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.learnt && entry.peer == &peer; });
}

Neighbours::Entry* Neighbours::find(const IpBytes& address) noexcept {
  const bool is_v4 = address_of(address).is_v4();
  for (Entry& entry : entries_)
    if (entry.is_v4 == is_v4 && masked(address, entry.mask) == entry.address) return &entry;
  return nullptr;
}

}  // namespace rpcrdma::ipoib
