// SPDX-License-Identifier: BSD-3-Clause
// Operation: runs of fsync, one at a time. A caller waits for the first run that begins after its call, because a run
// in progress may have missed the caller's data. The first caller that finds no run in progress runs fsync for all.
// Ownership: each caller keeps its descriptor. A file with data for which no caller has waited is kept open by a
// reference cycle, which a run or release() breaks. No lock is held during a run.
// Error handling: a failed run is counted before it ends. The kernel reports the error once, so a later run succeeds;
// but a caller that read the count before it wrote sees that the count has changed.
#include "write_back.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "descriptor_cache.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

Status WriteBack::sync(int fd, Stable how, std::uint64_t since) {
  // Declared before `lock`, so that the file is closed only after the mutex has been released.
  std::shared_ptr<const OpenFile> kept;
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = begun_ + 1;
  whole_ = whole_ || how == Stable::file_sync;
  ended_one_.wait(lock, [&] { return ended_ == begun_ || ended_ >= wanted; });
  if (ended_ < wanted) run(lock, fd, kept);
  return failures() == since ? Status::ok : last_;
}

void WriteBack::run(std::unique_lock<std::mutex>& lock, int fd, std::shared_ptr<const OpenFile>& kept) {
  ++begun_;
  const bool whole = std::exchange(whole_, false);
  // Uses the kept descriptor if there is one. It was open before the UNSTABLE writes that this run covers, so it
  // reports their error. `fd` may have been opened later, and is then not certain to report it.
  kept = std::exchange(kept_, nullptr);
  if (kept != nullptr) fd = kept->fd.get();
  lock.unlock();
  const int error = (whole ? ::fsync(fd) : ::fdatasync(fd)) == 0 ? 0 : errno;
  lock.lock();
  if (error != 0) {
    last_ = status_of(error);
    // The kernel may have dropped data of earlier UNSTABLE WRITEs. A client that sees the write verifier change sends
    // this data again.
    verifier_.fetch_add(1, std::memory_order_relaxed);
    failures_.fetch_add(1, std::memory_order_release);
  }
  ++ended_;
  ended_one_.notify_all();
}

void WriteBack::wrote(const std::shared_ptr<const OpenFile>& file) {
  const std::lock_guard lock(mutex_);
  written_ = Clock::now();
  if (kept_ == nullptr) kept_ = file;
}

std::shared_ptr<const OpenFile> WriteBack::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

std::optional<WriteBack::Clock::time_point> WriteBack::written() const {
  const std::lock_guard lock(mutex_);
  return kept_ != nullptr ? std::optional(written_) : std::nullopt;
}

void WriteBack::release() {
  // Declared before `lock`, so that the file is closed only after the mutex has been released.
  std::shared_ptr<const OpenFile> gone;
  const std::lock_guard lock(mutex_);
  gone = std::move(kept_);
}

}  // namespace rpcrdma::nfsd
