// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"

namespace rpcrdma::nfsd {

/// Threads for what may block: file I/O. Each has a HandleCodec of its own, which it lends to the jobs.
class IoPool {
 public:
  /// 192 octets hold what the services capture, so that a job does not allocate.
  using Job = UniqueFunction<void(const HandleCodec&), 192>;

  IoPool(unsigned threads, const HandleSecret& secret);
  ~IoPool() { join(); }
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// Jobs start in the order of submission. Any thread; not after join(). The number of calls in progress, which
  /// credits bound, bounds the queue.
  void submit(Job job);
  /// Runs what has been submitted, then ends the threads.
  void join();

 private:
  void work(const HandleSecret& secret);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> ring_;  // queue that keeps its room
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rpcrdma::nfsd
