// SPDX-License-Identifier: BSD-3-Clause
// Operation: range by range, workers take pieces of the file from one queue; each reads its piece from the server into
// its registered buffer, repeats short READs, and writes it to the local file. The server's eof flag ends the file, not
// the size seen before.
// Ownership: a worker owns its buffer; the Download lives in the frame of Copier::download, which awaits them.
// Error handling: the first error stops the workers at their next piece and is the result.
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "local_error.hpp"
#include "offload.hpp"
#include "read_piece.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/ranges.hpp"

namespace rpcrdma::nfs {

Task<ReadPiece> read_piece(Client& client, FileHandle file, Range range, BufferRef into) {
  ReadPiece piece;
  while (piece.count < range.length && !piece.eof) {
    const auto wanted = static_cast<std::uint32_t>(range.length) - piece.count;
    const Result<Client::ReadResult> read =
        co_await client.read(file, range.offset + piece.count, into.slice(piece.count, wanted));
    if (!read) co_return read.error();
    if (read->count > wanted || (read->count == 0 && !read->eof))
      co_return make_error_code(ClientError::malformed_reply);
    piece.count += read->count;
    piece.eof = read->eof;
  }
  co_return piece;
}

namespace {

class Download {
 public:
  Download(Copier::Shared& shared, const FileHandle& from, std::uint64_t size, const Fd& to, std::uint64_t start)
      : shared_(shared),
        from_(from),
        to_(to),
        piece_(shared.limits.read_size),
        walk_(start, std::max<std::uint64_t>(size, 1), shared.options.stride, piece_) {}

  Task<void> run() {
    while (!ended_ && !failed_) co_await fetch(walk_.next());
    if (failed_) co_return failed_;
    co_return end_target();
  }

 private:
  /// Truncates the target where the source ends: an earlier copy, or pieces read before the source shrank, lie behind
  /// it.
  Result<void> end_target() const {
    if (!ended_) return {};
    const Result<Attributes> target = local_attributes(to_);
    if (!target) return target.error();
    if (target->type != FileType::regular || target->size <= end_) return {};
    if (::ftruncate(to_.get(), static_cast<off_t>(end_)) != 0) return last_system_error();
    return {};
  }

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
      const Result<void> written = co_await write_piece(range->offset, buffer->first(piece->count));
      if (!written) fail(written.error());
    }
  }

  boost::asio::awaitable<Result<void>> write_piece(std::uint64_t offset, BufferRef from) {
    const std::span<const std::byte> bytes = from.octets();
    shared_.observer.on_moved(bytes.size());
    if (bytes.size() < kOffloadFrom) co_return write_at(to_, offset, bytes);
    co_return co_await offload(shared_.threads, [this, offset, bytes] { return write_at(to_, offset, bytes); });
  }

  void fail(error_code why) {
    if (!failed_) failed_ = why;
  }

  Copier::Shared& shared_;
  FileHandle from_;
  const Fd& to_;
  std::uint32_t piece_;
  FileWalk walk_;
  RangeQueue queue_{{}, 1};
  bool ended_ = false;
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  ///< of the source, once ended_
  error_code failed_;
};

}  // namespace

Task<void> Copier::download(FileHandle from, std::uint64_t size, const Fd& to, std::uint64_t start) {
  Download operation(shared_, from, size, to, start);
  co_return co_await operation.run();
}

}  // namespace rpcrdma::nfs
