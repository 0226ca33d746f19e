// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"

namespace rpcrdma::nfsd {

/// Threads for what may block: file I/O. Each has a HandleCodec of its own, which it lends to the jobs. A job goes to
/// the thread that was the last to rest: what it needs is still in that processor's caches, and the identity of the
/// last caller, who most often is the next one too, still that thread's. A file system that hangs keeps the threads
/// that call it: when jobs wait and none has been taken for kPatience, there are more threads, up to `most`, and they
/// rest apart again when they are not needed any more.
class IoPool {
 public:
  /// 192 octets hold what the services capture, so that a job does not allocate.
  using Job = UniqueFunction<void(const HandleCodec&), 192>;

  /// How long jobs wait for threads that are all at work, until there are more of them.
  static constexpr std::chrono::milliseconds kPatience{250};

  IoPool(unsigned threads, const HandleSecret& secret) : IoPool(threads, threads, secret) {}
  IoPool(unsigned threads, unsigned most, const HandleSecret& secret);
  ~IoPool() { join(); }
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// Jobs start in the order of submission. Any thread; not after join(). The number of calls in progress, which
  /// credits bound, bounds the queue.
  void submit(Job job);
  /// Runs what has been submitted, then ends the threads.
  void join();
  /// How many threads wait for the next job. Any thread.
  std::size_t resting() const;
  /// How many have one. Any thread.
  std::size_t at_work() const;

 private:
  /// Where one thread waits.
  struct Place {
    std::condition_variable called;
    bool is_called = false;
  };

  void work(Place& place);
  /// Until this thread is called. `lock` holds mutex_.
  void rest(Place& place, std::unique_lock<std::mutex>& lock);
  static void call(Place& place);
  void watch();
  void add_threads();
  bool add_thread();

  const std::size_t usual_;
  const std::size_t most_;
  const HandleSecret secret_;
  mutable std::mutex mutex_;
  std::unique_ptr<Place[]> places_;
  std::vector<Place*> resting_;  // the last one is called first; no more than the usual number
  std::vector<Place*> spare_;    // others; called when no job is taken
  std::vector<Job> ring_;        // queue that keeps its room
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t at_work_ = 0;
  std::uint64_t taken_ = 0;  // jobs
  bool ending_ = false;
  std::vector<std::thread> threads_;
  std::condition_variable jobs_wait_;
  bool watching_ = false;  // whether the watcher looks by itself, and need not be told
  std::thread watcher_;    // where there may be more threads
};

}  // namespace rpcrdma::nfsd
