// SPDX-License-Identifier: BSD-3-Clause
// Operation: a ring of jobs, taken first in, first out, and a stack of threads that rest; a watcher, asleep as long as
// there is a thread for each job, looks whether jobs are taken. Ownership: a job belongs to the ring until a thread has
// taken it. Error handling: jobs report their outcome themselves.
#include "rpcrdma/nfsd/service/io_pool.hpp"

#include <algorithm>
#include <system_error>

#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {

IoPool::IoPool(unsigned threads, unsigned most, const HandleSecret& secret)
    : usual_(std::max(threads, 1u)), most_(std::max<std::size_t>(most, usual_)), secret_(secret), ring_(64) {
  places_ = std::make_unique<Place[]>(most_);
  resting_.reserve(usual_);
  spare_.reserve(most_);
  threads_.reserve(most_);
  const std::lock_guard lock(mutex_);
  while (threads_.size() < usual_) threads_.emplace_back([this, &place = places_[threads_.size()]] { work(place); });
  if (most_ > usual_) watcher_ = std::thread([this] { watch(); });
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
    if (resting_.empty()) {
      if (watching_ || most_ == usual_) return;
      watching_ = true;
    } else {
      called = resting_.back();
      resting_.pop_back();
      called->is_called = true;
    }
  }
  (called != nullptr ? called->called : jobs_wait_).notify_one();
}

std::size_t IoPool::resting() const {
  const std::lock_guard lock(mutex_);
  return resting_.size();
}

std::size_t IoPool::at_work() const {
  const std::lock_guard lock(mutex_);
  return at_work_;
}

void IoPool::call(Place& place) {
  place.is_called = true;
  place.called.notify_one();
}

void IoPool::rest(Place& place, std::unique_lock<std::mutex>& lock) {
  place.is_called = false;
  (resting_.size() < usual_ ? resting_ : spare_).push_back(&place);
  place.called.wait(lock, [&place] { return place.is_called; });
}

/// Looks again and again as long as there is no thread for some job.
void IoPool::watch() {
  leave_signals_to_others();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (count_ == 0) {
      watching_ = false;
      jobs_wait_.wait(lock, [this] { return watching_ || ending_; });
    }
    const std::uint64_t before = taken_;
    jobs_wait_.wait_for(lock, kPatience, [this] { return ending_; });
    if (count_ != 0 && taken_ == before && !ending_) add_threads();
  }
}

/// As many as hang, as the next jobs may be of the same kind.
void IoPool::add_threads() {
  for (std::size_t wanted = std::min(count_, at_work_); wanted != 0; --wanted) {
    if (!spare_.empty()) {
      call(*spare_.back());
      spare_.pop_back();
    } else if (!add_thread()) {
      return;
    }
  }
}

bool IoPool::add_thread() {
  if (threads_.size() == most_) return false;
  try {
    threads_.emplace_back([this, &place = places_[threads_.size()]] { work(place); });
  } catch (const std::system_error&) {  // a limit of the system's: the jobs wait on
    return false;
  }
  return true;
}

void IoPool::work(Place& place) {
  leave_signals_to_others();
  const HandleCodec codec(secret_);
  std::unique_lock lock(mutex_);
  for (;;) {
    // A thread that was at work may have taken the job for which this one was called.
    while (count_ == 0 && !ending_) rest(place, lock);
    if (count_ == 0) return;
    Job job = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    --count_;
    ++at_work_;
    ++taken_;
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
    for (auto* places : {&resting_, &spare_}) {
      for (Place* place : *places) call(*place);
      places->clear();
    }
    jobs_wait_.notify_one();
  }
  if (watcher_.joinable()) watcher_.join();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

}  // namespace rpcrdma::nfsd
