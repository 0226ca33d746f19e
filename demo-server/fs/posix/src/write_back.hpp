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

/// One file's way to the disk, in common to all who have it open. The kernel tells of data that it could not write, and
/// has dropped, to one fsync(2) of each open descriptor, and of an inode to one at all: whoever else has lost something
/// with it learns so here. Synchronized; allocates nothing.
class WriteBack {
 public:
  using Clock = std::chrono::steady_clock;
  /// `verifier` changes with every failure, before anybody is answered who came later.
  explicit WriteBack(std::atomic<std::uint64_t>& verifier) noexcept : verifier_(verifier) {}

  /// How often it has failed. To be asked before a change is made that sync() is then to speak for.
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }

  /// Brings what has been written before the call to the disk, through `fd`, or waits for another thread that does it
  /// for several at once. The error of the last failure if there has been any since that count, whosoever it was.
  Status sync(int fd, Stable how, std::uint64_t since);

  /// After a write whose data may reach the disk later, or not: keeps the file open until it has been synchronized. If
  /// nobody had it open any more, the kernel might tell the error to somebody else, or forget it with the inode.
  void wrote(const std::shared_ptr<const OpenFile>& file);
  /// What is kept open; null if nothing is.
  std::shared_ptr<const OpenFile> kept() const;
  /// When the last write was that has not been synchronized since, if there was one.
  std::optional<Clock::time_point> written() const;
  /// The file is gone, and its data with it.
  void let_go();

 private:
  void run(std::unique_lock<std::mutex>& lock, int fd, std::shared_ptr<const OpenFile>& kept);

  std::atomic<std::uint64_t>& verifier_;
  std::atomic<std::uint64_t> failures_{0};
  mutable std::mutex mutex_;
  std::condition_variable ended_one_;
  std::uint64_t begun_ = 0;  // runs, of which there is one at a time
  std::uint64_t ended_ = 0;
  bool whole_ = false;  // the next one is for attributes as well
  Status last_ = Status::ok;
  std::shared_ptr<const OpenFile> kept_;  // since before the data was written that no run has begun for
  Clock::time_point written_;
};

}  // namespace rpcrdma::nfsd
