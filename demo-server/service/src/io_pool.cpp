// SPDX-License-Identifier: BSD-3-Clause
// Operation: a FIFO queue of jobs and a stack of idle threads. A watcher checks that jobs start; it sleeps while there
// is a thread for each job.
// Ownership: a job belongs to the queue until a thread takes it.
// Error handling: jobs report their outcome themselves.
#include "rpcrdma/nfsd/service/io_pool.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {

IoPool::IoPool(unsigned threads, unsigned most, const HandleSecret& secret, void (*prepare)() noexcept)
    : usual_(std::max(threads, 1u)), most_(std::max<std::size_t>(most, usual_)), secret_(secret), prepare_(prepare) {
  places_ = std::make_unique<Place[]>(most_);
  idle_.reserve(usual_);
  spare_.reserve(most_);
  threads_.reserve(most_);
  const ExternalSignalsBlocked inherited;
  const std::lock_guard lock(mutex_);
  while (threads_.size() < usual_) threads_.emplace_back([this, &place = places_[threads_.size()]] { work(place); });
  if (most_ > usual_) watcher_ = std::thread([this] { watch(); });
}

void IoPool::submit(Job job) {
  Place* woken = nullptr;
  {
    std::unique_lock lock(mutex_);
    if (ending_) return run(std::move(job), HandleCodec(secret_), lock);
    waiting_.push(std::move(job));
    if (idle_.empty()) {
      if (watching_ || most_ == usual_) return;
      watching_ = true;
    } else {
      woken = idle_.back();
      idle_.pop_back();
    }
  }
  if (woken != nullptr)
    woken->wake();
  else
    jobs_wait_.notify_one();
}

std::size_t IoPool::idle() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

std::size_t IoPool::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_ + overdue_;
}

void IoPool::count_overdue(int change) noexcept {
  const std::lock_guard lock(mutex_);
  overdue_ += static_cast<std::size_t>(change);
}

void IoPool::Place::wait() noexcept {
  while (woken_.load(std::memory_order_acquire) == 0)
    ::syscall(SYS_futex, &woken_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

void IoPool::Place::wake() noexcept {
  woken_.store(1, std::memory_order_release);
  ::syscall(SYS_futex, &woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void IoPool::wait(Place& place, std::unique_lock<std::mutex>& lock) {
  place.prepare();
  (idle_.size() < usual_ ? idle_ : spare_).push_back(&place);
  lock.unlock();
  place.wait();
  lock.lock();
}

/// While jobs wait, checks at intervals of kPatience whether any job has started since the last check. Adds threads if
/// none has.
void IoPool::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty()) {
      watching_ = false;
      jobs_wait_.wait(lock, [this] { return watching_ || ending_; });
    }
    const std::uint64_t before = started_;
    jobs_wait_.wait_for(lock, kPatience, [this] { return ending_; });
    if (!waiting_.empty() && started_ == before && !ending_) add_threads();
  }
}

/// Wakes a spare thread, or else starts a thread, for each waiting job. Provides at most as many threads as are busy,
/// because the waiting jobs may hang too, and would then occupy all threads at once.
void IoPool::add_threads() {
  for (std::size_t wanted = std::min(waiting_.size(), busy_); wanted != 0; --wanted) {
    if (!spare_.empty()) {
      spare_.back()->wake();
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
  } catch (const std::system_error&) {  // the system permits no more threads: the jobs keep waiting
    return false;
  }
  return true;
}

void IoPool::work(Place& place) {
  if (prepare_ != nullptr) prepare_();
  const HandleCodec codec(secret_);
  std::unique_lock lock(mutex_);
  for (;;) {
    // A busy thread may have taken the job for which this thread was woken.
    while (waiting_.empty() && !ending_) wait(place, lock);
    if (waiting_.empty()) return;
    ++started_;
    run(waiting_.pop(), codec, lock);
  }
}

void IoPool::run(Job job, const HandleCodec& codec, std::unique_lock<std::mutex>& lock) {
  ++busy_;
  lock.unlock();
  try {
    job(codec);
  } catch (...) {  // out of memory: destroying the job answers its call with SYSTEM_ERR
  }
  job = {};  // destroys its captures while the lock is not held
  lock.lock();
  --busy_;
}

void IoPool::join() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (auto* places : {&idle_, &spare_}) {
      for (Place* place : *places) place->wake();
      places->clear();
    }
    jobs_wait_.notify_one();
  }
  if (watcher_.joinable()) watcher_.join();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

}  // namespace rpcrdma::nfsd
