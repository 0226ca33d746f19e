// SPDX-License-Identifier: BSD-3-Clause
#include "posix/descriptor_cache.hpp"

namespace rpcrdma::nfsd {

std::shared_ptr<const OpenFile> DescriptorCache::find(const NodeKey& key, bool writable) {
  const std::lock_guard lock(mutex_);
  const auto at = index_.find(key);
  if (at == index_.end() || (writable && !at->second->file->writable)) return nullptr;
  order_.splice(order_.begin(), order_, at->second);
  at->second->used = Clock::now();
  return at->second->file;
}

void DescriptorCache::put(const NodeKey& key, std::shared_ptr<const OpenFile> file) {
  Order gone;  // closes after the lock is released
  const std::lock_guard lock(mutex_);
  if (const auto at = index_.find(key); at != index_.end()) {
    gone.splice(gone.end(), order_, at->second);
    index_.erase(at);
  }
  while (order_.size() >= capacity_ && !order_.empty()) {
    index_.erase(order_.back().key);
    gone.splice(gone.end(), order_, std::prev(order_.end()));
  }
  order_.push_front({key, std::move(file), Clock::now()});
  index_.emplace(key, order_.begin());
}

void DescriptorCache::drop(const NodeKey& key) {
  Order gone;
  const std::lock_guard lock(mutex_);
  const auto at = index_.find(key);
  if (at == index_.end()) return;
  gone.splice(gone.end(), order_, at->second);
  index_.erase(at);
}

void DescriptorCache::drop_idle(Clock::time_point since) {
  Order gone;
  const std::lock_guard lock(mutex_);
  while (!order_.empty() && order_.back().used < since) {
    index_.erase(order_.back().key);
    gone.splice(gone.end(), order_, std::prev(order_.end()));
  }
}

std::size_t DescriptorCache::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace rpcrdma::nfsd
