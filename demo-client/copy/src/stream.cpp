// SPDX-License-Identifier: BSD-3-Clause
// Operation: as a download, but each worker waits for its turn before it writes what it has read, so that the bytes
// leave in order.
// Ownership: a worker owns its buffer; the Stream lives in the frame of Copier::stream, which awaits them.
// Error handling: the first error wakes all workers, which end, and is the result.
#include <algorithm>
#include <limits>

#include "offload.hpp"
#include "read_piece.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {
namespace {

class Stream {
 public:
  Stream(Copier::Shared& shared, const FileHandle& from, std::uint64_t size, int to)
      : shared_(shared),
        from_(from),
        to_(to),
        piece_(shared.limits.read_size),
        // Files of /proc have data but no size.
        walk_(0, std::max<std::uint64_t>(size, 1), shared.options.stride, piece_),
        turn_changed_(shared.client.executor()) {}

  Task<void> run() {
    while (!ended_ && !failed_) co_await fetch(walk_.next());
    if (failed_) co_return failed_;
    co_return co_await offload(shared_.threads, [this] { return check_written(to_); });
  }

 private:
  boost::asio::awaitable<void> fetch(Range range) {
    queue_ = RangeQueue({range}, piece_);
    Group workers(shared_.client.executor());
    const std::uint64_t pieces = (range.length + piece_ - 1) / piece_;
    for (std::uint64_t i = 1; i < std::min<std::uint64_t>(shared_.options.window, pieces); ++i) workers.spawn(work());
    co_await work();
    co_await workers.wait();
  }

  boost::asio::awaitable<void> work() {
    const Permits::Permit permit = co_await shared_.buffers.acquire();
    // The first piece is not shorter than the others of its range.
    std::optional<Range> range = queue_.next();
    if (!range) co_return;
    const auto size = static_cast<std::uint32_t>(range->length);
    const Result<memory::RegisteredBuffer> buffer = shared_.client.pool().allocate(size);
    if (!buffer) co_return fail(buffer.error());
    for (; range && !failed_; range = queue_.next()) {
      const Result<ReadPiece> piece = co_await read_piece(shared_.client, from_, *range, buffer->ref());
      if (!piece) {
        fail(piece.error());
        break;
      }
      const std::uint64_t end = range->offset + piece->count;
      if (piece->eof) {
        queue_.end_at(end);
        ended_ = true;
        end_ = std::min(end_, end);
      }
      while (turn_ != range->offset && !failed_) co_await turn_changed_.wait();
      if (failed_) break;
      // A source that grows meanwhile has data behind the end that an earlier piece found.
      if (range->offset < end_) co_await write_out_piece(buffer->first(piece->count));
      turn_ = range->offset + range->length;
      turn_changed_.notify_all();
    }
  }

  boost::asio::awaitable<void> write_out_piece(BufferRef from) {
    const std::span<const std::byte> bytes = from.octets();
    // A slow reader must not block the thread that serves the connection.
    const Result<void> written = co_await offload(shared_.threads, [this, bytes] { return write_out(to_, bytes); });
    if (!written) fail(written.error());
  }

  void fail(error_code why) {
    if (!failed_) failed_ = why;
    turn_changed_.notify_all();
  }

  Copier::Shared& shared_;
  FileHandle from_;
  int to_;
  std::uint32_t piece_;
  FileWalk walk_;
  std::uint64_t turn_ = 0;
  RangeQueue queue_{{}, 1};
  bool ended_ = false;
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  ///< of the source, once ended_
  Signal turn_changed_;
  error_code failed_;
};

}  // namespace

Task<void> Copier::stream(FileHandle from, std::uint64_t size, int to) {
  Stream operation(shared_, from, size, to);
  co_return co_await operation.run();
}

}  // namespace rpcrdma::nfs
