// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <limits>

#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/ranges.hpp"

namespace rpcrdma::nfs {

/// Reads a file from the server, one range after another. A range is divided into pieces, which wait in one queue.
/// Several workers take pieces from the queue. A worker reads its piece into a registered buffer of its own, and then
/// passes the piece to consume(). If a READ returns less than was asked for, the worker sends a further READ for the
/// missing bytes. The file ends where the server sets eof, even if its size was different before.
class FileReader {
 protected:
  FileReader(Copier::Shared& shared, const FileHandle& from, std::uint64_t size, std::uint64_t start)
      : shared_(shared),
        from_(from),
        piece_(shared.limits.read_size),
        // A size of 0 counts as 1, so that the first READ asks for one byte. The reply shows whether the file has
        // data. A file of /proc, for example, has data although its size is 0.
        walk_(start, std::max<std::uint64_t>(size, 1), shared.options.stride, piece_) {}
  ~FileReader() = default;

  /// Reads the file from `start` on, until the server reports its end or an error occurs. Returns the first error, or
  /// success.
  Task<void> read_all();
  /// Processes one piece of the file: `data` holds the bytes of `range`. If the file ends within `range`, `data` is
  /// shorter than `range`. `data` is valid until the coroutine of consume() has ended.
  virtual boost::asio::awaitable<void> consume(Range range, BufferRef data) = 0;
  /// Stores `why` as the result of read_all(), unless an earlier error is stored. From now on no worker begins another
  /// piece.
  virtual void fail(error_code why) {
    if (!failed_) failed_ = why;
  }

  bool failed() const noexcept { return static_cast<bool>(failed_); }
  /// The offset at which the file ends, or the largest 64-bit number until read_all() has found the end.
  std::uint64_t end() const noexcept { return end_; }

  Copier::Shared& shared_;

 private:
  struct Piece {
    std::uint32_t count = 0;
    bool eof = false;
  };
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  boost::asio::awaitable<void> fetch(Range range);
  boost::asio::awaitable<void> work();
  Task<Piece> read_piece(Range range, BufferRef into);

  FileHandle from_;
  std::uint32_t piece_;
  FileWalk walk_;
  RangeQueue queue_{{}, 1};
  std::uint64_t end_ = kUnknown;
  error_code failed_;
};

}  // namespace rpcrdma::nfs
