// SPDX-License-Identifier: BSD-3-Clause
// Operation: runs of fsync, one after the other. A caller waits for the first run that begins after its call, as one
// under way may have passed by what the caller wrote; the first to find none under way begins it, for all who wait.
// Ownership: each caller holds on to its descriptor. No lock is held in a run.
// Error handling: a run that fails is counted before it ends. So a later one, to which the kernel does not tell that
// error, cannot end well unheeded: who asked for the count before writing finds another.
#include "posix/write_back.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "posix/system.hpp"

namespace rpcrdma::nfsd {

Status WriteBack::sync(int fd, Stable how, std::uint64_t since) {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = begun_ + 1;
  whole_ = whole_ || how == Stable::file_sync;
  ended_one_.wait(lock, [&] { return ended_ == begun_ || ended_ >= wanted; });
  if (ended_ < wanted) run(lock, fd);
  return failures() == since ? Status::ok : last_;
}

void WriteBack::run(std::unique_lock<std::mutex>& lock, int fd) {
  ++begun_;
  const bool whole = std::exchange(whole_, false);
  lock.unlock();
  const int error = (whole ? ::fsync(fd) : ::fdatasync(fd)) == 0 ? 0 : errno;
  lock.lock();
  if (error != 0) {
    last_ = status_of(error);
    // The kernel may have dropped pages of earlier UNSTABLE writes: clients must send them again.
    verifier_.fetch_add(1, std::memory_order_relaxed);
    failures_.fetch_add(1, std::memory_order_release);
  }
  ++ended_;
  ended_one_.notify_all();
}

}  // namespace rpcrdma::nfsd
