// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>

#include "posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kKeepId = 0xffffffff;  // to chown(2): leave it

timespec timespec_of(const SetTime& t) noexcept {
  switch (t.how) {
    case SetTime::How::keep: return {0, UTIME_OMIT};
    case SetTime::How::server: return {0, UTIME_NOW};
    case SetTime::How::client: break;
  }
  return {static_cast<time_t>(t.value.seconds), static_cast<long>(t.value.nanoseconds)};
}

bool valid_time(const SetTime& t) noexcept {
  return t.how != SetTime::How::client || t.value.nanoseconds < 1'000'000'000u;
}

}  // namespace

/// In the order in which later steps do not undo earlier ones: a truncation and a change of owner clear the
/// set-id bits, and all but the last touch the times.
Status PosixFileSystem::apply(int fd, const NodeKey& key, const SetAttributes& changes, FileType type) {
  if (!valid_time(changes.atime) || !valid_time(changes.mtime)) return Status::inval;
  if (changes.size) {
    if (type == FileType::directory) return Status::isdir;
    if (type != FileType::regular) return Status::inval;
    if (const Status s = truncate(key, *changes.size); s != Status::ok) return s;
  }
  if (changes.uid || changes.gid) {
    const int failed = ::fchownat(fd, "", changes.uid.value_or(kKeepId), changes.gid.value_or(kKeepId),
                                  AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    if (failed != 0) return status_of(errno);
  }
  if (changes.mode) {
    if (type == FileType::symlink) return Status::notsupp;
    // O_PATH descriptors take no fchmod.
    if (::chmod(ProcPath(fd).text, *changes.mode & 07777u) != 0) return status_of(errno);
  }
  if (changes.atime.how != SetTime::How::keep || changes.mtime.how != SetTime::How::keep) {
    const timespec times[2] = {timespec_of(changes.atime), timespec_of(changes.mtime)};
    if (::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return status_of(errno);
  }
  return Status::ok;
}

ChangeResult PosixFileSystem::set_attributes(const Caller&, const NodeKey& node, const SetAttributes& changes,
                                             const std::optional<Time>& guard) {
  ChangeResult result;
  Fd fd;
  result.status = locator_->open(node, fd);
  if (result.status != Status::ok) return result;
  const std::lock_guard lock(lock_of(node));
  NodeStat before;
  NodeStat after;
  result.status = stat_fd(fd.get(), before);
  if (result.status != Status::ok) return result;
  // RFC 1813 section 3.3.2: the guard keeps a change from being applied twice or to something newer.
  if (guard && *guard != before.attributes.ctime)
    result.status = Status::not_sync;
  else
    result.status = apply(fd.get(), node, changes, before.attributes.type);
  result.wcc.before = wcc_of(before.attributes);
  if (stat_fd(fd.get(), after) == Status::ok) result.wcc.after = after.attributes;
  return result;
}

/// Owner, group and mode of a new object: the caller's, or those asked for.
Status PosixFileSystem::give_to(int fd, const Directory& parent, const Caller& caller, const SetAttributes& attributes,
                                std::optional<std::uint32_t> mode) {
  SetAttributes own = attributes;
  own.size.reset();
  own.mode = mode;
  if (may_give_away_) {
    // A set-group-id directory hands its group to what is created in it; the kernel has done so.
    const bool inherits = (parent.before.attributes.mode & 02000u) != 0;
    if (!own.uid) own.uid = caller.uid;
    if (!own.gid && !inherits) own.gid = caller.gid;
  }
  NodeStat stat;
  if (const Status s = stat_fd(fd, stat); s != Status::ok) return s;
  if (stat.attributes.type == FileType::symlink) own.mode.reset();
  return apply(fd, {}, own, stat.attributes.type);
}

}  // namespace rpcrdma::nfsd
