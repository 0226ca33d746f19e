// SPDX-License-Identifier: BSD-3-Clause
// Operation, ownership, error handling: as in upload_file.cpp. Before the target gets its final attributes, the local
// file system is asked for write errors; a copy with such an error cannot be resumed.
#include <unistd.h>

#include "local_error.hpp"
#include "offload.hpp"
#include "resume.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {
namespace {

Result<void> cut(const Fd& file, std::uint64_t size) {
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return last_system_error();
  return {};
}

/// Called after a failed copy to a marked target: removes the mark if nothing could be resumed. Reports the copy as
/// unfinished if the mark stays.
void leave_behind(Copier::Shared& shared, const Fd& to, const Attributes& source, std::uint32_t mode, bool is_kept) {
  const Result<Attributes> now = local_attributes(to);
  if (now && !is_marked(now->mode)) return;
  const bool useless = !is_kept || (now && resume_at(source, *now, shared.options.stride) == 0);
  if (!useless || !set_attributes(to, SetAttributes{.mode = mode})) shared.observer.on_unfinished();
}

Task<void> written(Copier::Shared& shared, const Fd& to, std::uint64_t size) {
  if (size < kOffloadFrom) co_return check_written(to.get());
  co_return co_await offload(shared.threads, [&to] { return check_written(to.get()); });
}

}  // namespace

Task<void> Copier::download_file(Node from, const Fd& to, SetAttributes final) {
  Attributes& source = from.attributes;
  const Result<Attributes> there = local_attributes(to);
  if (!there) co_return there.error();
  // Only a regular file is marked as an unfinished copy (resume.hpp). The size of a target of another type, such as
  // /dev/null, does not show how much has been copied.
  const bool regular = there->type == FileType::regular;
  const std::uint32_t mode = unmarked_mode(source, *there);
  std::uint64_t start = shared_.options.resume ? resume_at(source, *there, shared_.options.stride) : 0;
  bool marked = regular && (there->mode & kUnfinished) != 0;
  std::uint64_t size = there->size;
  const auto fail = [&](error_code why, bool is_kept) {
    if (marked) leave_behind(shared_, to, source, mode, is_kept);
    return why;
  };
  while (true) {
    if (start == 0 && size != 0) {
      const Result<void> done = cut(to, 0);
      if (!done) co_return fail(done.error(), true);
    }
    if (shared_.options.resume && source.size > shared_.options.stride && regular)
      marked = set_attributes(to, mark_of(source, mode)).has_value() || marked;
    shared_.observer.on_kept(start);
    const Result<void> copied = co_await download(from.handle, source.size, to, start);
    if (!copied) {
      const Result<void> kept = co_await written(shared_, to, source.size);
      co_return fail(copied.error(), kept.has_value());
    }
    const Result<Attributes> got = local_attributes(to);
    if (!got) co_return fail(got.error(), true);
    // If the copy was not resumed and has the expected size, it is complete. Otherwise the source may have changed: its
    // attributes are fetched again. The size of a target that is not a regular file says nothing.
    if (!regular || (start == 0 && got->size == source.size)) break;
    const Result<Attributes> now = co_await shared_.client.getattr(from.handle);
    if (!now) {
      const Result<void> kept = co_await written(shared_, to, source.size);
      co_return fail(now.error(), kept.has_value());
    }
    if (start != 0 && !is_same(source, *now)) {
      shared_.observer.on_found(now->size);
      source = *now;
      renew(final, source);
      start = 0;
      size = got->size;
      continue;
    }
    if (now->size < source.size && now->size < got->size) {
      const Result<void> done = cut(to, now->size);
      if (!done) co_return fail(done.error(), true);
    }
    break;
  }
  const Result<void> kept = co_await written(shared_, to, source.size);
  if (!kept) co_return fail(kept.error(), false);
  if (marked && !final.mode) final.mode = mode;
  const Result<void> done = set_attributes(to, final);
  if (!done) co_return fail(done.error(), true);
  co_return done;
}

}  // namespace rpcrdma::nfs
