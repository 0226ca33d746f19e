// SPDX-License-Identifier: BSD-3-Clause
// Operation: a ring of jobs, taken first in, first out, and a stack of threads that rest. Ownership: a job belongs to
// the ring until a thread has taken it. Error handling: jobs report their outcome themselves.
#include "rpcrdma/nfsd/io/io_pool.hpp"

#include <algorithm>

namespace rpcrdma::nfsd {

IoPool::IoPool(unsigned threads, const HandleSecret& secret) : ring_(64) {
  const std::size_t count = std::max(threads, 1u);
  places_ = std::make_unique<Place[]>(count);
  resting_.reserve(count);
  threads_.reserve(count);
  while (threads_.size() < count)
    threads_.emplace_back([this, secret, &place = places_[threads_.size()]] { work(secret, place); });
}

void IoPool::submit(Job job) {
  Place* called = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (count_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(first_), ring_.end());
      first_ = 0;
      ring_.resize(ring_.size() * 2);
    }
    ring_[(first_ + count_++) % ring_.size()] = std::move(job);
    if (resting_.empty()) return;
    called = resting_.back();
    resting_.pop_back();
    called->is_called = true;
  }
  called->called.notify_one();
}

std::size_t IoPool::resting() const {
  const std::lock_guard lock(mutex_);
  return resting_.size();
}

std::size_t IoPool::at_work() const {
  const std::lock_guard lock(mutex_);
  return at_work_;
}

void IoPool::rest(Place& place, std::unique_lock<std::mutex>& lock) {
  place.is_called = false;
  resting_.push_back(&place);
  place.called.wait(lock, [&place] { return place.is_called; });
}

void IoPool::work(const HandleSecret& secret, Place& place) {
  const HandleCodec codec(secret);
  std::unique_lock lock(mutex_);
  for (;;) {
    // A thread that was at work may have taken the job for which this one was called.
    while (count_ == 0 && !ending_) rest(place, lock);
    if (count_ == 0) return;
    Job job = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    --count_;
    ++at_work_;
    lock.unlock();
    try {
      job(codec);
    } catch (...) {  // out of memory: what the job captured is dropped, and a call among it answers SYSTEM_ERR
    }
    job = {};  // what it captured goes before the next wait
    lock.lock();
    --at_work_;
  }
}

void IoPool::join() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Place* place : resting_) {
      place->is_called = true;
      place->called.notify_one();
    }
    resting_.clear();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

}  // namespace rpcrdma::nfsd
