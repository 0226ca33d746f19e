// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <limits>

#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/ranges.hpp"

namespace rpcrdma::nfs {

/// Reads a file from the server, range by range. Workers take pieces from one queue; each reads its piece into its
/// registered buffer, with further READs after a short one, and passes the piece to consume(). The file ends where the
/// server sets eof, whatever its size was before.
class FileReader {
 protected:
  FileReader(Copier::Shared& shared, const FileHandle& from, std::uint64_t size, std::uint64_t start)
      : shared_(shared),
        from_(from),
        piece_(shared.limits.read_size),
        // Files of /proc have data but no size.
        walk_(start, std::max<std::uint64_t>(size, 1), shared.options.stride, piece_) {}
  ~FileReader() = default;

  /// Reads until the end of the file or the first error, which is the result.
  Task<void> read_all();
  /// Takes `data`, the bytes of `range`; they are fewer than the range only at the end of the file.
  virtual boost::asio::awaitable<void> consume(Range range, BufferRef data) = 0;
  /// Stops the workers at their next piece; only the first error counts.
  virtual void fail(error_code why) {
    if (!failed_) failed_ = why;
  }

  bool failed() const noexcept { return static_cast<bool>(failed_); }
  /// The end of the file; the largest number until it has been found.
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
