// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"

namespace rpcrdma::nfsd {

/// Threads for file I/O, which may block. Each has a HandleCodec of its own for its jobs. A new job wakes the thread
/// that became idle last: its processor's caches are warm, and it still has the identity of its last caller, which
/// usually sends the next call as well. A file system that hangs blocks the threads that call it. If jobs wait and none
/// has started for kPatience, the pool adds threads, up to `most`. Idle threads beyond the regular number are spare:
/// they get jobs only when the pool would add threads.
class IoPool {
 public:
  /// 192 bytes hold the captures of the services, so that a job does not allocate.
  using Job = UniqueFunction<void(const HandleCodec&), 192>;

  /// The pool adds threads if jobs wait and none has started for this time.
  static constexpr std::chrono::milliseconds kPatience{250};

  IoPool(unsigned threads, const HandleSecret& secret) : IoPool(threads, threads, secret) {}
  /// Each thread calls `prepare` first, unless it is null.
  IoPool(unsigned threads, unsigned most, const HandleSecret& secret, void (*prepare)() noexcept = nullptr);
  ~IoPool() { join(); }
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// Jobs start in the order of submission. May be called on any thread, but not after join(). The queue has no
  /// limit of its own: a call in progress has at most one job, and the transports bound the calls.
  void submit(Job job);
  /// Runs the submitted jobs, then ends the threads.
  void join();
  /// The number of idle threads, without the spare ones. May be called on any thread.
  std::size_t idle() const;
  /// The number of threads with a job. May be called on any thread.
  std::size_t busy() const;

 private:
  /// One idle thread waits here, on a futex. A condition variable would lock the mutex as contended after a wait, and
  /// the next unlock would be a system call.
  class Place {
   public:
    /// Announces a wait; wake() may follow at once.
    void prepare() noexcept { woken_.store(0, std::memory_order_relaxed); }
    void wait() noexcept;
    void wake() noexcept;

   private:
    std::atomic<std::uint32_t> woken_{0};
  };

  void work(Place& place);
  /// Waits until this thread is woken. `lock` holds mutex_.
  void wait(Place& place, std::unique_lock<std::mutex>& lock);
  void watch();
  void add_threads();
  bool add_thread();

  const std::size_t usual_;
  const std::size_t most_;
  const HandleSecret secret_;
  void (*const prepare_)() noexcept;
  mutable std::mutex mutex_;
  std::unique_ptr<Place[]> places_;
  std::vector<Place*> idle_;   // the last one is woken first; at most the regular number of threads
  std::vector<Place*> spare_;  // other idle threads; add_threads() wakes them
  std::vector<Job> ring_;      // queue that keeps its capacity
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t busy_ = 0;
  std::uint64_t started_ = 0;  // jobs started so far: the watcher checks that it grows
  bool ending_ = false;
  std::vector<std::thread> threads_;
  std::condition_variable jobs_wait_;
  bool watching_ = false;  // the watcher polls and needs no notification
  std::thread watcher_;    // only if the number of threads may grow
};

}  // namespace rpcrdma::nfsd
