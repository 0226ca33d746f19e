// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>

#include "posix_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

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

}  // namespace

/// In the order in which later steps do not undo earlier ones: a change of owner clears the set-id bits, and all but
/// the last touch the times.
Status PosixFileSystem::apply(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes) {
  {
    const ActingAs acting(user(caller));
    if (!acting) return Status::acces;
    if (changes.uid || changes.gid) {
      const int failed = ::fchownat(fd, "", changes.uid.value_or(kKeepId), changes.gid.value_or(kKeepId),
                                    AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
      if (failed != 0) return status_of(errno);
    }
    if (changes.mode) {
      const mode_t mode = mode_beside_owner(*changes.mode, changes, stat.attributes.type);
      // The mode while open_own() has changed it is nobody's.
      const std::unique_lock lock = acts_ ? std::unique_lock<std::mutex>() : std::unique_lock(modes_mutex_);
      // O_PATH descriptors take no fchmod.
      if (::chmod(ProcPath(fd).text, mode) != 0) return status_of(errno);
    }
  }
  const bool times = changes.atime.how != SetTime::How::keep || changes.mtime.how != SetTime::How::keep;
  return times ? set_times(caller, fd, stat, changes) : Status::ok;
}

/// The kernel lets those who may write set both times to now, and no other times. A client that truncates a file asks
/// for one of them (RFC 1813 section 3.3.2 has no other way), so that has to be enough here.
Status PosixFileSystem::set_times(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes) {
  const timespec times[2] = {timespec_of(changes.atime), timespec_of(changes.mtime)};
  const auto set = [&] { return ::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0; };
  Status status = Status::acces;
  if (const ActingAs acting(user(caller)); acting) status = set() ? Status::ok : status_of(errno);
  const bool to_now = changes.atime.how != SetTime::How::client && changes.mtime.how != SetTime::How::client;
  if (status != Status::perm || !to_now) return status;
  std::uint32_t may = 0;
  if (const Status s = rights(caller, fd, stat, may); s != Status::ok) return s;
  if ((may & access::kMayWrite) == 0) return Status::acces;
  return set() ? Status::ok : status_of(errno);
}

ChangeResult PosixFileSystem::set_attributes(const Caller& caller, const NodeKey& node, const SetAttributes& changes,
                                             const std::optional<Time>& guard) {
  ChangeResult result;
  Fd fd;
  result.status = locator_->open(node, fd);
  if (result.status != Status::ok) return result;
  NodeStat before;
  Watched watched;
  {
    const std::lock_guard lock(lock_of(node));
    NodeStat after;
    result.status = stat_fd(fd.get(), before);
    if (result.status != Status::ok) return result;
    if (caller.sync) watched = watch(before);
    // RFC 1813 section 3.3.2: the guard keeps a change from being applied twice or to something newer.
    if (guard && *guard != before.attributes.ctime) result.status = Status::not_sync;
    if (result.status == Status::ok) result.status = check_changes(changes, before.attributes.type);
    if (result.status == Status::ok && changes.size) result.status = truncate(caller, node, *changes.size);
    if (result.status == Status::ok)
      result.status = apply(caller, fd.get(), before, without_moot(changes, before.attributes.type));
    result.wcc.before = wcc_of(before.attributes);
    if (stat_fd(fd.get(), after) == Status::ok) {
      result.wcc.after = after.attributes;
      if (locator_->follows_changes()) locator_->changed(before, after);
    }
  }
  if (result.status == Status::ok && caller.sync)
    result.status = flush(fd.get(), before.attributes.type, std::move(watched));
  return result;
}

}  // namespace rpcrdma::nfsd
