// SPDX-License-Identifier: BSD-3-Clause
// Operation: truncates or resumes the target, marks it if it is large and resuming is allowed, copies the data and sets
// the final attributes. If the source shrank during the copy, the target is truncated too. If the source changed during
// a resumed copy, the kept data belongs to another version, and the copy starts again: the target is truncated before
// it gets the mark of the new version.
// Ownership: the caller's descriptor must outlive the operation.
// Error handling: the first error is the result, but the copy goes on if the server refuses to set the mark (a file of
// another owner). A mark from which nothing could be resumed is removed if the server still answers.
#include <algorithm>

#include "resume.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {
namespace {

/// True if `file` has no data. A size of 0 does not prove this, because files of /proc state this size but have data.
/// The function therefore also tries to read a byte.
bool is_empty(const Fd& file, const Attributes& attributes) {
  std::byte byte{};
  return attributes.size == 0 && read_at(file, 0, {&byte, 1}) == Result<std::size_t>(0);
}

bool agrees(const SetAttributes& wanted, const Attributes& is) noexcept {
  return wanted.mode.value_or(is.mode) == is.mode && (!wanted.atime || wanted.atime.value == is.atime) &&
         (!wanted.mtime || wanted.mtime.value == is.mtime);
}

/// To be called after a failed copy if the target has the mark of an unfinished copy (resume.hpp). Tries to remove the
/// mark if a later copy could not resume the failed one. Does not try this if `why` concerns more than this file,
/// because the server may no longer answer. `mode` is the mode of the target without the mark. Reports the copy as
/// unfinished if the mark may still be there.
boost::asio::awaitable<void> leave(Copier::Shared& shared, FileHandle to, Attributes source, std::uint32_t mode,
                                   error_code why) {
  if (is_file_error(why)) {
    const Result<Attributes> now = co_await shared.client.getattr(to);
    if (now && !is_marked(now->mode)) co_return;
    if (now && resume_at(source, *now, shared.options.stride) == 0) {
      const SetAttributes unmarked{.mode = mode};
      const Result<void> set = co_await shared.client.setattr(to, unmarked);
      if (set) co_return;
    }
  }
  shared.observer.on_unfinished();
}

}  // namespace

Task<void> Copier::upload_file(const Fd& from, Attributes source, Node to, SetAttributes final) {
  const Attributes& there = to.attributes;
  // The sticky bit shows that an interrupted copy has left its mark on the target (resume.hpp).
  bool marked = (there.mode & kUnfinished) != 0;
  if (there.size == 0 && !marked && agrees(final, there) && is_empty(from, source)) co_return Result<void>();
  const std::uint32_t mode = unmarked_mode(source, there);
  std::uint64_t start = shared_.options.resume ? resume_at(source, there, shared_.options.stride) : 0;
  std::uint64_t longest = there.size;
  const auto fail = [&](error_code why) -> Task<void> {
    if (marked) co_await leave(shared_, to.handle, source, mode, why);
    co_return why;
  };
  while (true) {
    if (start == 0 && longest != 0) {
      const Result<void> cut = co_await shared_.client.setattr(to.handle, SetAttributes{.size = 0});
      if (!cut) co_return co_await fail(cut.error());
      longest = 0;
    }
    if (shared_.options.resume && source.size > shared_.options.stride && there.type == FileType::regular) {
      const SetAttributes mark = mark_of(source, mode);
      const Result<void> set = co_await shared_.client.setattr(to.handle, mark);
      if (!set && !is_file_error(set.error())) co_return co_await fail(set.error());
      marked = marked || set.has_value();
    }
    shared_.observer.on_kept(start);
    const Result<void> copied = co_await upload(from, source.size, to.handle, start);
    if (!copied) co_return co_await fail(copied.error());
    longest = std::max(longest, source.size);
    const Result<Attributes> now = local_attributes(from);
    if (!now) co_return co_await fail(now.error());
    if (now->size < longest) final.size = now->size;
    if (start == 0 || is_same(source, *now)) break;
    shared_.observer.on_found(now->size);
    source = *now;
    start = 0;
    renew(final, source);
  }
  if (marked && !final.mode) final.mode = mode;
  if (!marked && final.mode == there.mode) final.mode.reset();
  if (!final.mode && !final.size && !final.atime && !final.mtime) co_return Result<void>();
  const Result<void> done = co_await shared_.client.setattr(to.handle, final);
  if (!done) co_return co_await fail(done.error());
  co_return done;
}

}  // namespace rpcrdma::nfs
