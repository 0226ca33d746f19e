// SPDX-License-Identifier: BSD-3-Clause
// Operation: see the class.
// Ownership: a worker owns its buffer; read_all() awaits the workers.
// Error handling: the first error stops the workers at their next piece and is the result.
#include "file_reader.hpp"

namespace rpcrdma::nfs {

Task<void> FileReader::read_all() {
  while (end_ == kUnknown && !failed_) co_await fetch(walk_.next());
  if (failed_) co_return failed_;
  co_return Result<void>();
}

boost::asio::awaitable<void> FileReader::fetch(Range range) {
  queue_ = RangeQueue({range}, piece_);
  Group workers(shared_.client.executor());
  const std::uint64_t pieces = (range.length + piece_ - 1) / piece_;
  for (std::uint64_t i = 1; i < std::min<std::uint64_t>(shared_.options.window, pieces); ++i) workers.spawn(work());
  co_await work();
  co_await workers.wait();
}

boost::asio::awaitable<void> FileReader::work() {
  const Permits::Permit permit = co_await shared_.buffers.acquire();
  // This worker reads its pieces into one buffer. The buffer has the size of the worker's first piece, because no later
  // piece of the queue is longer.
  std::optional<Range> range = queue_.next();
  if (!range) co_return;
  const Result<memory::RegisteredBuffer> buffer =
      shared_.client.pool().allocate(static_cast<std::uint32_t>(range->length));
  if (!buffer) co_return fail(buffer.error());
  for (; range && !failed_; range = queue_.next()) {
    const Result<Piece> piece = co_await read_piece(*range, buffer->ref());
    if (!piece) co_return fail(piece.error());
    if (piece->eof) {
      end_ = std::min(end_, range->offset + piece->count);
      queue_.end_at(range->offset + piece->count);
    }
    co_await consume(*range, buffer->first(piece->count));
  }
}

Task<FileReader::Piece> FileReader::read_piece(Range range, BufferRef into) {
  Piece piece;
  while (piece.count < range.length && !piece.eof) {
    const auto wanted = static_cast<std::uint32_t>(range.length) - piece.count;
    const Result<Client::ReadResult> read =
        co_await shared_.client.read(from_, range.offset + piece.count, into.slice(piece.count, wanted));
    if (!read) co_return read.error();
    if (read->count > wanted || (read->count == 0 && !read->eof))
      co_return make_error_code(ClientError::malformed_reply);
    piece.count += read->count;
    piece.eof = read->eof;
  }
  co_return piece;
}

}  // namespace rpcrdma::nfs
