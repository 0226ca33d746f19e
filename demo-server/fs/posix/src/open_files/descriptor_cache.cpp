// SPDX-License-Identifier: BSD-3-Clause
#include "descriptor_cache.hpp"

namespace rpcrdma::nfsd {

std::shared_ptr<const OpenFile> DescriptorCache::find(const NodeKey& key, const Identity& user, Use use) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = index_.equal_range(key);
  for (auto at = first; at != last; ++at) {
    Entry& entry = *at->second;
    if (!entry.file->serves(use) || !(entry.user == user)) continue;
    order_.splice(order_.begin(), order_, at->second);
    entry.used = Clock::now();
    return entry.file;
  }
  return nullptr;
}

void DescriptorCache::put(const NodeKey& key, const Identity& user, std::shared_ptr<const OpenFile> file) {
  Order gone;
  const std::lock_guard lock(mutex_);
  auto [at, last] = index_.equal_range(key);
  while (at != last) {
    const Entry& old = *at->second;
    const bool covered = (!old.file->readable || file->readable) && (!old.file->writable || file->writable);
    at = covered && old.user == user ? take_out(at, gone) : std::next(at);
  }
  while (order_.size() >= capacity_ && !order_.empty()) take_out(std::prev(order_.end()), gone);
  const auto now = Clock::now();
  Order added;
  added.push_front({key, user, std::move(file), now, now});
  const auto place = index_.emplace(key, added.begin());
  try {
    by_id_.emplace(added.front().file->id, added.begin());
  } catch (...) {
    index_.erase(place);
    throw;
  }
  order_.splice(order_.begin(), added);
}

DescriptorCache::Index::iterator DescriptorCache::take_out(Index::iterator at, Order& gone) {
  const auto [first, last] = by_id_.equal_range(at->second->file->id);
  for (auto i = first; i != last; ++i) {
    if (i->second != at->second) continue;
    by_id_.erase(i);
    break;
  }
  gone.splice(gone.end(), order_, at->second);
  return index_.erase(at);
}

void DescriptorCache::take_out(Order::iterator at, Order& gone) {
  const auto [first, last] = index_.equal_range(at->key);
  for (auto i = first; i != last; ++i) {
    if (i->second != at) continue;
    take_out(i, gone);
    return;
  }
}

void DescriptorCache::drop(const NodeKey& key) {
  Order gone;
  const std::lock_guard lock(mutex_);
  auto [at, last] = index_.equal_range(key);
  while (at != last) at = take_out(at, gone);
}

void DescriptorCache::drop(const ObjectId& id) {
  Order gone;
  const std::lock_guard lock(mutex_);
  for (auto at = by_id_.find(id); at != by_id_.end(); at = by_id_.find(id)) take_out(at->second, gone);
}

void DescriptorCache::drop_idle(Clock::time_point used, Clock::time_point opened) {
  Order gone;
  const std::lock_guard lock(mutex_);
  for (auto at = order_.begin(); at != order_.end();) {
    const auto next = std::next(at);
    if (at->used < used || at->opened < opened) take_out(at, gone);
    at = next;
  }
}

std::size_t DescriptorCache::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace rpcrdma::nfsd
