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

/// Brings the changes of one directory to the disk by fsync. Concurrent callers may share one fsync. The functions may
/// be called on any thread.
class DirectorySync {
 public:
  /// The number of failures. Read it before a change, and give it to the sync() that covers the change.
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }

  /// Brings the changes that were made before the call to the disk. Either calls fsync itself, or waits for an fsync
  /// that another thread begins after this call. Returns Status::ok if no fsync has failed since failures() returned
  /// `since`, and the error of the last failure otherwise. `directory` is an O_PATH descriptor of the directory. The
  /// first successful call reopens it for fsync. Returns nothing if it cannot be reopened.
  std::optional<Status> sync(int directory, std::uint64_t since);

 private:
  std::mutex mutex_;
  std::condition_variable ended_one_;
  // The number of fsyncs that have begun, and the number of those that have ended. At most one fsync is in progress, so
  // the two numbers differ by at most 1.
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  std::atomic<std::uint64_t> failures_{0};
  Status last_ = Status::ok;
  Fd opened_;
};

}  // namespace rpcrdma::nfsd
