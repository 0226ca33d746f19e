// SPDX-License-Identifier: BSD-3-Clause
#include "neighbours.hpp"

#include <algorithm>

namespace rpcrdma::ipoib {
namespace {

constexpr unsigned kAllBits = 128;

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

void Neighbours::add(const IpPrefix& addresses, Peer& peer) {
  const unsigned bits = addresses.length + (addresses.address.is_v4() ? 96u : 0u);
  const IpBytes mask = mask_of(bits);
  const Range range{masked(ip_bytes(addresses.address), mask), mask, bits, addresses.address.is_v4(), {&peer}};
  if (bits == kAllBits) return put(range.address, range.entry);
  const auto same = [&](const Range& other) {
    return other.bits == bits && other.is_v4 == range.is_v4 && other.address == range.address;
  };
  if (const auto found = std::ranges::find_if(ranges_, same); found != ranges_.end()) {
    *found = range;
    return;
  }
  const auto at = std::ranges::upper_bound(ranges_, bits, std::ranges::greater(), &Range::bits);
  ranges_.insert(at, range);
}

void Neighbours::learn(const IpBytes& address, Peer& peer, const IpBytes& host) {
  put(address, {&peer, true, host});
  ++learnt_;
  ++learnt_at_[host];
}

void Neighbours::put(const IpBytes& address, const Entry& entry) {
  const auto [at, added] = hosts_.try_emplace(address, entry);
  if (added) return;
  count_out(at->second);
  at->second = entry;
}

void Neighbours::count_out(const Entry& entry) noexcept {
  if (!entry.learnt) return;
  --learnt_;
  const auto count = learnt_at_.find(entry.host);
  if (--count->second == 0) learnt_at_.erase(count);
}

std::size_t Neighbours::learnt_at(const IpBytes& host) const noexcept {
  const auto count = learnt_at_.find(host);
  return count == learnt_at_.end() ? 0 : count->second;
}

void Neighbours::forget(const Peer& peer) noexcept {
  std::erase_if(hosts_, [&](const auto& host) {
    if (!host.second.learnt || host.second.peer != &peer) return false;
    count_out(host.second);
    return true;
  });
}

Neighbours::Entry* Neighbours::find(const IpBytes& address) noexcept {
  if (const auto host = hosts_.find(address); host != hosts_.end()) return &host->second;
  const bool is_v4 = address_of(address).is_v4();
  for (Range& range : ranges_)
    if (range.is_v4 == is_v4 && masked(address, range.mask) == range.address) return &range.entry;
  return nullptr;
}

}  // namespace rpcrdma::ipoib
