// SPDX-License-Identifier: BSD-3-Clause
// Operation, ownership, error handling: as in upload_file.cpp.
#include <unistd.h>

#include "local_error.hpp"
#include "resume.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {

Task<void> Copier::download_file(Node from, const Descriptor& to, SetAttributes final) {
  const Attributes& source = from.attributes;
  const Result<Attributes> there = local_attributes(to);
  if (!there) co_return there.error();
  const std::uint64_t start = shared_.options.resume ? resume_at(source, *there, shared_.options.stride) : 0;
  if (start == 0 && there->size != 0 && ::ftruncate(to.get(), 0) != 0) co_return last_system_error();
  // Nothing but a file: a copy to /dev/null must leave that as it is.
  bool marked = there->type == FileType::regular && (there->mode & kUnfinished) != 0;
  if (shared_.options.resume && source.size > shared_.options.stride && there->type == FileType::regular)
    marked = set_attributes(to, mark_of(source, there->mode)).has_value() || marked;
  if (marked && !final.mode) final.mode = there->mode & 0777;
  shared_.observer.on_kept(start);
  const Result<void> copied = co_await download(from.handle, source.size, to, start);
  if (!copied) co_return copied.error();
  co_return set_attributes(to, final);
}

}  // namespace rpcrdma::nfs
