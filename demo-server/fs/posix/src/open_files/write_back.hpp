// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

struct OpenFile;

/// Synchronizes one file for all callers that have it open. If data is lost, one fsync(2) of each open descriptor
/// fails; if an inode is lost, only one fsync(2) in all. This class reports both to every caller whose changes were
/// lost. Synchronized; allocates nothing.
class WriteBack {
 public:
  using Clock = std::chrono::steady_clock;
  /// `verifier` changes with every failure, before any later call is answered.
  explicit WriteBack(std::atomic<std::uint64_t>& verifier) noexcept : verifier_(verifier) {}

  /// The number of failures. Read it before a change, and give it to the sync() that covers the change.
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }

  /// Brings to the disk, through `fd` or the kept file, all data written before the call, or waits for another thread
  /// that does so for several callers. Returns the last error if a run of fsync has failed since failures() returned
  /// `since`.
  Status sync(int fd, Stable how, std::uint64_t since);

  /// Reports a write that is not synchronized yet: keeps the file open until the write is synchronized. If the file
  /// were closed, the kernel might report an error to another program, or forget the error with the inode.
  void wrote(const std::shared_ptr<const OpenFile>& file);
  /// The file that is kept open; null if none is.
  std::shared_ptr<const OpenFile> kept() const;
  /// The time of the last write that has not been synchronized; nothing if there is none.
  std::optional<Clock::time_point> written() const;
  /// Closes the kept file without synchronizing it.
  void release();

 private:
  void run(std::unique_lock<std::mutex>& lock, int fd, std::shared_ptr<const OpenFile>& kept);

  std::atomic<std::uint64_t>& verifier_;
  std::atomic<std::uint64_t> failures_{0};
  mutable std::mutex mutex_;
  std::condition_variable ended_one_;
  std::uint64_t begun_ = 0;  // runs begun; at most one is in progress
  std::uint64_t ended_ = 0;
  bool whole_ = false;  // the next run writes attributes as well
  Status last_ = Status::ok;
  std::shared_ptr<const OpenFile> kept_;  // open since before the first write that no run covers
  Clock::time_point written_;
};

}  // namespace rpcrdma::nfsd
