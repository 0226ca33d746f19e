// SPDX-License-Identifier: BSD-3-Clause
// Operation: range by range, workers take pieces of the file from one queue; each reads its piece into its registered
// buffer and writes it to the server, with further WRITEs after a short one. COMMIT follows if data was written
// UNSTABLE. Ranges whose verifier differs from that of the COMMIT were lost in a restart and are written again (RFC
// 1813 sections 3.3.7 and 3.3.21).
// Ownership: a worker owns its buffer; the Upload lives in the frame of Copier::upload, which awaits the workers.
// Error handling: the first error stops each worker after its current read or WRITE, and is the result.
#include <algorithm>
#include <limits>

#include "offload.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/ranges.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr int kMaxRounds = 10;

class Upload {
 public:
  Upload(Copier::Shared& shared, const Fd& from, std::uint64_t size, const FileHandle& to, std::uint64_t start)
      : shared_(shared),
        from_(from),
        to_(to),
        piece_(shared.limits.write_size),
        // The expected end is one byte beyond `size`, so that reading the expected part also finds the end of the
        // file. It is at least one piece or 16 KiB, whichever is less, because files of /proc have data although
        // their size is 0.
        walk_(start, std::max<std::uint64_t>(size + 1, std::min(piece_, 16384u)), shared.options.stride, piece_),
        is_small_(size <= piece_) {}

  Task<void> run() {
    while (!ended_) {
      const Range range = walk_.next();
      // A file that fits in one WRITE is written FILE_SYNC, because an UNSTABLE WRITE would need a COMMIT as well.
      stability_ = is_small_ && !walk_.has_grown() ? Stable::file_sync : Stable::unstable;
      const Result<void> done = co_await settle(range);
      if (!done) co_return done.error();
    }
    if (written_to_ <= end_) co_return Result<void>();
    // The size of the local file has changed during the copy: a worker found the end of the file, but data from beyond
    // this end has been written to the server as well. SETATTR cuts this data off.
    co_return co_await shared_.client.setattr(to_, SetAttributes{.size = end_});
  }

 private:
  /// Writes a range to stable storage. Writes again what a restarting server lost, in at most kMaxRounds rounds.
  Task<void> settle(Range range) {
    std::vector<Range> todo{range};
    for (int round = 0; round < kMaxRounds; ++round) {
      co_await write_ranges(std::move(todo));
      if (failed_) co_return failed_;
      if (uncommitted_.empty()) co_return Result<void>();
      const Result<Verifier> verifier = co_await shared_.client.commit(to_);
      if (!verifier) co_return verifier.error();
      todo = uncommitted_.commit(*verifier);
      if (todo.empty()) co_return Result<void>();
    }
    co_return make_error_code(ClientError::keeps_restarting);
  }

  boost::asio::awaitable<void> write_ranges(std::vector<Range> todo) {
    std::uint64_t bytes = 0;
    std::uint64_t longest = 0;
    for (const Range& range : todo) {
      bytes += range.length;
      longest = std::max(longest, range.length);
    }
    const auto buffer_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(longest, piece_));
    RangeQueue queue(std::move(todo), piece_);
    const std::uint64_t pieces = (bytes + piece_ - 1) / piece_;
    Group workers(shared_.client.executor());
    for (std::uint64_t i = 1; i < std::min<std::uint64_t>(shared_.options.window, pieces); ++i) {
      workers.spawn(work(queue, buffer_size));
    }
    co_await work(queue, buffer_size);
    co_await workers.wait();
  }

  boost::asio::awaitable<void> work(RangeQueue& queue, std::uint32_t buffer_size) {
    const Permits::Permit permit = co_await shared_.buffers.acquire();
    std::optional<Range> range = queue.next();
    if (!range) co_return;
    const Result<memory::RegisteredBuffer> buffer = shared_.client.pool().allocate(buffer_size);
    if (!buffer) co_return fail(buffer.error());
    for (; range && !failed_; range = queue.next()) {
      const Result<std::size_t> count = co_await read_piece(*range, buffer->ref());
      if (!count) {
        fail(count.error());
        break;
      }
      if (*count < range->length) {
        queue.end_at(range->offset + *count);
        ended_ = true;
        end_ = std::min(end_, range->offset + *count);
      }
      if (range->offset >= end_) break;
      co_await write_piece(range->offset, buffer->first(static_cast<std::uint32_t>(*count)));
    }
  }

  boost::asio::awaitable<Result<std::size_t>> read_piece(Range range, BufferRef into) {
    const std::span<std::byte> bytes = into.octets().first(static_cast<std::size_t>(range.length));
    if (bytes.size() < kOffloadFrom) co_return read_at(from_, range.offset, bytes);
    co_return co_await offload(shared_.threads, [this, range, bytes] { return read_at(from_, range.offset, bytes); });
  }

  boost::asio::awaitable<void> write_piece(std::uint64_t offset, BufferRef from) {
    while (from.size > 0 && !failed_) {
      const Result<Client::WriteResult> written = co_await shared_.client.write(to_, offset, from, stability_);
      if (!written) {
        fail(written.error());
        break;
      }
      if (written->count == 0 || written->count > from.size) {
        fail(ClientError::malformed_reply);
        break;
      }
      if (written->committed == Stable::unstable) {
        uncommitted_.add({offset, written->count}, written->verifier);
      }
      shared_.observer.on_moved(written->count);
      offset += written->count;
      written_to_ = std::max(written_to_, offset);
      from = from.slice(written->count, from.size - written->count);
    }
  }

  void fail(error_code why) {
    if (!failed_) failed_ = why;
  }

  Copier::Shared& shared_;
  const Fd& from_;
  FileHandle to_;
  std::uint32_t piece_;
  FileWalk walk_;
  bool is_small_;
  Stable stability_ = Stable::unstable;
  UncommittedRanges uncommitted_;
  bool ended_ = false;                                             ///< the end of the local file has been read
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  ///< end of the local file, once ended_
  std::uint64_t written_to_ = 0;                                   ///< end of the data written to the server
  error_code failed_;
};

}  // namespace

Task<void> Copier::upload(const Fd& from, std::uint64_t size, FileHandle to, std::uint64_t start) {
  Upload operation(shared_, from, size, to, start);
  co_return co_await operation.run();
}

}  // namespace rpcrdma::nfs
