// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Writes the changes of one directory to the disk, for all threads that wait for that. Synchronized.
class DirectorySync {
 public:
  /// The number of failures. Read it before a change, and give it to the sync() that covers the change.
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }

  /// Brings to the disk all changes made before the call, or waits for another thread that does so for several callers.
  /// Returns the last error if an fsync has failed since failures() returned `since`; nothing if the directory cannot
  /// be opened for fsync. `directory` is an O_PATH descriptor of the directory; the first call opens it for fsync.
  std::optional<Status> sync(int directory, std::uint64_t since);

 private:
  std::mutex mutex_;
  std::condition_variable ended_one_;
  std::uint64_t begun_ = 0;  // number of fsyncs begun; at most one is in progress
  std::uint64_t ended_ = 0;
  std::atomic<std::uint64_t> failures_{0};
  Status last_ = Status::ok;
  Fd opened_;
};

}  // namespace rpcrdma::nfsd
