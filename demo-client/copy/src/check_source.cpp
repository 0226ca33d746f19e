// SPDX-License-Identifier: BSD-3-Clause
// Operation: READs one byte; sends no call if the target is no regular file or is empty. ACCESS would not do: servers
// let the owner READ a file even if its mode, and thus ACCESS, denies this.
// Ownership: the frame owns the buffer.
// Error handling: the error of the READ is the result.
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {

Task<void> Copier::check_source(Node from, const Fd& to) {
  const Result<Attributes> there = local_attributes(to);
  if (!there) co_return there.error();
  if (there->type != FileType::regular || there->size == 0) co_return Result<void>();
  const Result<memory::RegisteredBuffer> buffer = shared_.client.pool().allocate(1);
  if (!buffer) co_return buffer.error();
  const Result<Client::ReadResult> read = co_await shared_.client.read(from.handle, 0, buffer->ref());
  if (!read) co_return read.error();
  co_return Result<void>();
}

}  // namespace rpcrdma::nfs
