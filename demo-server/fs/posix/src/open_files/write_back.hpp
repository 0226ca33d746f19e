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

/// Brings the changes of one file to the disk, for all callers that have the file open. If the kernel has lost data,
/// one fsync(2) of each open descriptor fails. If it has lost the inode, only one fsync(2) fails, on whatever
/// descriptor. This class reports either loss to every caller whose changes were lost. Synchronized. Allocates no
/// memory.
class WriteBack {
 public:
  using Clock = std::chrono::steady_clock;
  /// `verifier` is the write verifier of RFC 1813 and must outlive this object. Each run of fsync that fails increments
  /// it, before a sync() that waits for this run returns.
  explicit WriteBack(std::atomic<std::uint64_t>& verifier) noexcept : verifier_(verifier) {}

  /// The number of calls of fsync(2) and fdatasync(2) that have failed. A caller reads it before it changes the file,
  /// and passes it as `since` to the sync() that brings the change to the disk.
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }

  /// Returns after a run of fsync(2) or fdatasync(2) that began after the call of this function. Such a run covers all
  /// data that was written to the file before the call. If no other caller starts the run, this caller starts it, on
  /// the kept file or, if none is kept, on `fd`. `since` is an earlier result of failures(). If a run has failed since
  /// then, returns the error of the last run that failed.
  Status sync(int fd, Stable how, std::uint64_t since);

  /// To be called after a write to `file` that is not on the disk yet. If no file is kept yet, keeps `file` open until
  /// the next run of fsync ends or release() is called. If `file` were closed before that, the kernel might report
  /// to another program that it could not write the data, or might forget this failure together with the inode.
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
  // The number of runs of fsync(2) or fdatasync(2) that have begun. If it exceeds ended_, one run is in progress.
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  bool whole_ = false;  // true if the next run must call fsync(2), which also writes attributes, not fdatasync(2)
  Status last_ = Status::ok;
  // The file of the first call of wrote() since the latest run began or release() ran; null if there was no such call.
  // The next run uses its descriptor. This descriptor was open before any later write to the file, so it can report the
  // failure of such a write.
  std::shared_ptr<const OpenFile> kept_;
  Clock::time_point written_;
};

}  // namespace rpcrdma::nfsd
