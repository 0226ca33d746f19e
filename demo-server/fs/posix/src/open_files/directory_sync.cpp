// SPDX-License-Identifier: BSD-3-Clause
// Operation: runs of fsync, one at a time. A caller waits for the first run that begins after its call, because a run
// in progress may have missed the caller's change; the first caller that finds no run in progress runs fsync for all.
// Error handling: the kernel reports an error once to each descriptor. A caller reads the count of failures before its
// change, and compares it afterwards. It thus notices every failed run, even one that did not cover its change.
#include "directory_sync.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "acting.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

std::optional<Status> DirectorySync::sync(int directory, std::uint64_t since) {
  std::unique_lock lock(mutex_);
  if (!opened_) {
    act_as_server();
    auto opened = reopen(directory, O_RDONLY | O_DIRECTORY);
    if (!opened) return std::nullopt;
    opened_ = std::move(*opened);
  }
  const std::uint64_t wanted = begun_ + 1;
  ended_one_.wait(lock, [&] { return ended_ == begun_ || ended_ >= wanted; });
  if (ended_ < wanted) {
    ++begun_;
    lock.unlock();
    const int error = ::fsync(opened_.get()) == 0 ? 0 : errno;
    lock.lock();
    if (error != 0 && !has_no_fsync(error)) {
      last_ = status_of(error);
      failures_.fetch_add(1, std::memory_order_release);
    }
    ++ended_;
    ended_one_.notify_all();
  }
  return failures() == since ? Status::ok : last_;
}

}  // namespace rpcrdma::nfsd
