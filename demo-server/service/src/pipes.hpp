// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// A pipe through which the bytes of a file go to a socket without a copy. Both ends have O_NONBLOCK.
struct Pipe {
  Fd out;  ///< the end to read
  Fd in;   ///< the end to write
};

class Pipes;

struct RecyclePipe {
  Pipes* owner = nullptr;
  void operator()(Pipe* pipe) const noexcept;
};
using PipePtr = std::unique_ptr<Pipe, RecyclePipe>;

/// A free list of pipes. Take and return them on one thread; in between any thread may use them. Outlives its pipes.
class Pipes {
 public:
  /// The most pipes of a thread. Each has two file descriptors, and counts as 256 of the 16,384 pages that the pipes of
  /// a user without privilege may have together (pipe-user-pages-soft). Beyond these the kernel refuses further pipes,
  /// and take() returns null.
  static constexpr std::size_t kMost = 8;

  /// An empty pipe for `count` bytes of a file from `offset` on. A pipe holds a number of pages, of which the first and
  /// the last may be used in part. Returns null if so many bytes do not fit, or if there are too many pipes already.
  PipePtr take(std::uint64_t offset, std::uint32_t count) noexcept {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (offset % page + count > kBytes) return {};
    if (!idle_.empty()) {
      Pipe* const pipe = idle_.back().release();
      idle_.pop_back();
      return {pipe, RecyclePipe{this}};
    }
    return open_ < kMost && !refused_ ? make() : PipePtr{};
  }

 private:
  friend struct RecyclePipe;
  /// The kernel's limit for a user without privilege (pipe-max-size), unless it was changed.
  static constexpr int kBytes = 1 << 20;

  PipePtr make() noexcept try {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
    auto pipe = std::make_unique<Pipe>(Pipe{Fd(ends[0]), Fd(ends[1])});
    if (::fcntl(ends[1], F_SETPIPE_SZ, kBytes) < kBytes) {
      refused_ = true;
      return {};
    }
    idle_.reserve(kMost);
    ++open_;
    return {pipe.release(), RecyclePipe{this}};
  } catch (const std::bad_alloc&) {
    return {};
  }

  std::vector<std::unique_ptr<Pipe>> idle_;
  std::size_t open_ = 0;  // pipes in use and in idle_
  bool refused_ = false;  // the kernel has refused a pipe of this size, and no pipe has been closed since
};

/// Keeps the pipe if it is empty. It is not if a reply was not sent as a whole.
inline void RecyclePipe::operator()(Pipe* pipe) const noexcept {
  std::unique_ptr<Pipe> own(pipe);
  int left = 0;
  if (::ioctl(own->out.get(), FIONREAD, &left) == 0 && left == 0) {
    owner->idle_.push_back(std::move(own));
  } else {
    --owner->open_;
    owner->refused_ = false;
  }
}

}  // namespace rpcrdma::nfsd
