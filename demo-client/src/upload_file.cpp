// SPDX-License-Identifier: BSD-3-Clause
// Operation: one file as a whole: cut or resumed, marked if it is large and may be resumed, copied, given its final
// attributes.
// Ownership: the caller's descriptor outlives the operation.
// Error handling: the first error is the result. A mark that cannot be set (another's file) only means that this copy
// cannot be resumed.
#include "resume.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {

Task<void> Copier::upload_file(const Descriptor& from, Attributes source, Node to, SetAttributes final) {
  const std::uint64_t start = shared_.options.resume ? resume_at(source, to.attributes, shared_.options.stride) : 0;
  if (start == 0 && to.attributes.size != 0) {
    const Result<void> cut = co_await shared_.client.setattr(to.handle, SetAttributes{.size = 0});
    if (!cut) co_return cut.error();
  }
  bool marked = (to.attributes.mode & kUnfinished) != 0;  // by a copy that broke
  if (shared_.options.resume && source.size > shared_.options.stride && to.attributes.type == FileType::regular) {
    const SetAttributes mark = mark_of(source, to.attributes.mode);
    const Result<void> set = co_await shared_.client.setattr(to.handle, mark);
    if (!set && !is_file_error(set.error())) co_return set.error();
    marked = marked || set.has_value();
  }
  // Not the set-id bits, which the new content has not been given.
  if (marked && !final.mode) final.mode = to.attributes.mode & 0777;
  shared_.observer.on_kept(start);
  const Result<void> copied = co_await upload(from, source.size, to.handle, start);
  if (!copied) co_return copied.error();
  if (!final.mode && !final.accessed && !final.modified) co_return Result<void>();
  co_return co_await shared_.client.setattr(to.handle, final);
}

}  // namespace rpcrdma::nfs
