// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rpcrdma/nfsd/service/job_queue.hpp"

namespace rpcrdma::nfsd {

/// A pool of threads for file I/O, which may block. Each thread has its own HandleCodec, and passes it to its jobs.
///
/// A new job wakes the thread that became idle last. The caches of that thread's processor are still warm, and the
/// thread may still act with the uid and gid of its last caller, which usually sends the next call as well.
///
/// A file system that hangs blocks the threads that call it. If jobs wait and none has started for kPatience, the pool
/// adds threads, up to `most` in total. A thread that becomes idle when the regular number of threads is already idle
/// becomes a spare thread. A new job does not wake a spare thread. When the pool adds threads, it wakes spare threads
/// before it starts new ones.
class IoPool {
 public:
  /// The pool adds threads if jobs wait and none has started for this time.
  static constexpr std::chrono::milliseconds kPatience{250};

  IoPool(unsigned threads, const HandleSecret& secret) : IoPool(threads, threads, secret) {}
  /// `threads` is the regular number of threads, and `most` the number to which the pool may grow. If `prepare` is not
  /// null, each thread of the pool calls it before its first job.
  IoPool(unsigned threads, unsigned most, const HandleSecret& secret, void (*prepare)() noexcept = nullptr);
  ~IoPool() { join(); }
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// Puts `job` into the queue of the pool. Jobs start in the order of submission. May be called on any thread. After
  /// join() has been called, runs the job before it returns, on the calling thread. The queue has no limit of its own:
  /// a call in progress has at most one job, and the transports bound the calls.
  void submit(Job job);
  /// Runs the submitted jobs, then ends the threads.
  void join();
  /// The number of idle threads, without the spare ones. May be called on any thread.
  std::size_t idle() const;
  /// The number of threads with a job, and of the overdue jobs of LoopThreads. May be called on any thread.
  std::size_t busy() const;
  /// Adds `change` to the number of overdue jobs of LoopThreads. May be called on any thread.
  void count_overdue(int change) noexcept;

 private:
  /// The object on which one thread of the pool waits while it is idle. Each thread has a Place of its own. The thread
  /// waits on a futex and not on a condition variable: after a wait, a condition variable marks its mutex as contended,
  /// and the next unlock of the mutex is then a system call.
  class Place {
   public:
    /// To be called by the thread before its Place is put into idle_ or spare_. From then on, a wake() takes effect
    /// even if it precedes wait(): wait() then returns at once.
    void prepare() noexcept { woken_.store(0, std::memory_order_relaxed); }
    void wait() noexcept;
    void wake() noexcept;

   private:
    std::atomic<std::uint32_t> woken_{0};
  };

  void work(Place& place);
  /// Runs `job` on this thread. `lock` holds mutex_, and is released meanwhile.
  void run(Job job, const HandleCodec& codec, std::unique_lock<std::mutex>& lock);
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
  std::vector<Place*> idle_;   // idle threads, at most the regular number; submit() wakes the last one
  std::vector<Place*> spare_;  // idle threads beyond the regular number; add_threads() wakes them
  JobQueue waiting_;
  std::size_t busy_ = 0;
  std::size_t overdue_ = 0;
  std::uint64_t started_ = 0;  // jobs started so far; if it stays the same while jobs wait, watch() adds threads
  bool ending_ = false;
  std::vector<std::thread> threads_;
  std::condition_variable jobs_wait_;
  bool watching_ = false;  // the watcher checks the jobs at intervals, and submit() need not notify it
  std::thread watcher_;    // runs watch(); not started if most_ equals usual_
};

}  // namespace rpcrdma::nfsd
