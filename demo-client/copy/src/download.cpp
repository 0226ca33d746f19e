// SPDX-License-Identifier: BSD-3-Clause
// Operation: a FileReader reads the file, and its workers write their pieces to the local file.
// Ownership: the Download lives in the frame of Copier::download, which awaits it.
// Error handling: the first error is the result.
#include <unistd.h>

#include "file_reader.hpp"
#include "local_error.hpp"
#include "offload.hpp"

namespace rpcrdma::nfs {
namespace {

class Download final : FileReader {
 public:
  Download(Copier::Shared& shared, const FileHandle& from, std::uint64_t size, const Fd& to, std::uint64_t start)
      : FileReader(shared, from, size, start), to_(to) {}

  Task<void> run() {
    const Result<void> read = co_await read_all();
    if (!read) co_return read.error();
    co_return end_target();
  }

 private:
  /// Truncates the target at the end of the source: an earlier copy, or pieces read before the source shrank, may
  /// extend beyond it.
  Result<void> end_target() const {
    const Result<Attributes> target = local_attributes(to_);
    if (!target) return target.error();
    if (target->type != FileType::regular || target->size <= end()) return {};
    if (::ftruncate(to_.get(), static_cast<off_t>(end())) != 0) return last_system_error();
    return {};
  }

  boost::asio::awaitable<void> consume(Range range, BufferRef data) override {
    const std::span<const std::byte> bytes = data.octets();
    shared_.observer.on_moved(bytes.size());
    const auto write = [this, range, bytes] { return write_at(to_, range.offset, bytes); };
    if (bytes.size() < kOffloadFrom) co_return check(write());
    check(co_await offload(shared_.threads, write));
  }
  void check(const Result<void>& written) {
    if (!written) fail(written.error());
  }

  const Fd& to_;
};

}  // namespace

Task<void> Copier::download(FileHandle from, std::uint64_t size, const Fd& to, std::uint64_t start) {
  Download operation(shared_, from, size, to, start);
  co_return co_await operation.run();
}

}  // namespace rpcrdma::nfs
