// SPDX-License-Identifier: BSD-3-Clause
// Operation: a ring of jobs, taken first in, first out. Ownership: a job belongs to the ring until a thread has
// taken it. Error handling: jobs report their outcome themselves.
#include "rpcrdma/nfsd/io/io_pool.hpp"

#include <algorithm>

namespace rpcrdma::nfsd {

IoPool::IoPool(unsigned threads, const HandleSecret& secret) : ring_(64) {
  threads_.reserve(std::max(threads, 1u));
  while (threads_.size() < std::max(threads, 1u)) threads_.emplace_back([this, secret] { work(secret); });
}

void IoPool::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(first_), ring_.end());
      first_ = 0;
      ring_.resize(ring_.size() * 2);
    }
    ring_[(first_ + count_++) % ring_.size()] = std::move(job);
  }
  changed_.notify_one();
}

void IoPool::work(const HandleSecret& secret) {
  const HandleCodec codec(secret);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return count_ != 0 || ending_; });
    if (count_ == 0) return;
    Job job = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    --count_;
    lock.unlock();
    try {
      job(codec);
    } catch (...) {  // out of memory: what the job captured is dropped, and a call among it answers SYSTEM_ERR
    }
    job = {};  // what it captured goes before the next wait
    lock.lock();
  }
}

void IoPool::join() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

}  // namespace rpcrdma::nfsd
