// SPDX-License-Identifier: BSD-3-Clause
// Operation: a FileReader reads the file; each worker waits for its turn before it writes its piece, so that the bytes
// are written in order.
// Ownership: the Stream lives in the frame of Copier::stream, which awaits it.
// Error handling: the first error is the result; it wakes all workers, which end.
#include "file_reader.hpp"
#include "offload.hpp"

namespace rpcrdma::nfs {
namespace {

class Stream final : FileReader {
 public:
  Stream(Copier::Shared& shared, const FileHandle& from, std::uint64_t size, int to)
      : FileReader(shared, from, size, 0), to_(to), turn_changed_(shared.client.executor()) {}

  Task<void> run() {
    const Result<void> read = co_await read_all();
    if (!read) co_return read.error();
    co_return co_await offload(shared_.threads, [this] { return check_written(to_); });
  }

 private:
  boost::asio::awaitable<void> consume(Range range, BufferRef data) override {
    while (turn_ != range.offset && !failed()) co_await turn_changed_.wait();
    if (failed()) co_return;
    // end() is where the READs of one piece found the end of the file. If the file has grown since then, a later piece
    // may contain data. This data is dropped, because bytes between end() and this piece may not have been read.
    if (range.offset < end()) co_await write_out_piece(data);
    turn_ = range.offset + range.length;
    turn_changed_.notify_all();
  }

  boost::asio::awaitable<void> write_out_piece(BufferRef from) {
    const std::span<const std::byte> bytes = from.octets();
    // write_out() runs on another thread, because it may block: `to_` may be a pipe whose reader is slow. This thread
    // serves the connection and must not block.
    const Result<void> written = co_await offload(shared_.threads, [this, bytes] { return write_out(to_, bytes); });
    if (!written) fail(written.error());
  }

  void fail(error_code why) override {
    FileReader::fail(why);
    turn_changed_.notify_all();
  }

  int to_;
  std::uint64_t turn_ = 0;
  Signal turn_changed_;
};

}  // namespace

Task<void> Copier::stream(FileHandle from, std::uint64_t size, int to) {
  Stream operation(shared_, from, size, to);
  co_return co_await operation.run();
}

}  // namespace rpcrdma::nfs
