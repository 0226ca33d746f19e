// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>

#include "posix_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kKeepId = 0xffffffff;  // for chown(2): do not change this id

timespec timespec_of(const SetTime& t) noexcept {
  switch (t.how) {
    case SetTime::How::keep: return {0, UTIME_OMIT};
    case SetTime::How::server: return {0, UTIME_NOW};
    case SetTime::How::client: break;
  }
  return {static_cast<time_t>(t.value.seconds), static_cast<long>(t.value.nanoseconds)};
}

}  // namespace

/// Sets the owner before the mode, because a change of owner clears the set-id bits of the mode.
Status PosixFileSystem::apply(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes) const {
  {
    const ActingAs acting(user(caller));
    if (!acting) return status_of(identity_error());
    if (changes.uid || changes.gid) {
      const int failed = ::fchownat(fd, "", changes.uid.value_or(kKeepId), changes.gid.value_or(kKeepId),
                                    AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
      if (failed != 0) return status_of(errno);
    }
    if (changes.mode) {
      const mode_t mode = mode_beside_owner(*changes.mode, changes, stat.attributes.type);
      // In a server without privilege, open_own() changes the mode of a file and soon restores it. The lock keeps
      // open_own() from restoring the old mode after this change.
      const std::unique_lock lock = acts_ ? std::unique_lock<std::mutex>() : std::unique_lock(modes_mutex_);
      // fchmod() does not accept O_PATH descriptors.
      const ProcPath path(fd);
      if (::fchmodat(path.folder, path.text, mode, 0) != 0) return status_of(errno);
    }
  }
  const bool times = changes.atime.how != SetTime::How::keep || changes.mtime.how != SetTime::How::keep;
  return times ? set_times(caller, fd, stat, changes) : Status::ok;
}

/// If a caller may write, but is neither the owner nor root, the kernel lets it set both times to the present time, but
/// not one time alone. A client that truncates a file sets one time alone. For such a caller, this function therefore
/// sets the time with the rights of the server.
Status PosixFileSystem::set_times(const Caller& caller, int fd, const NodeStat& stat,
                                  const SetAttributes& changes) const {
  const timespec times[2] = {timespec_of(changes.atime), timespec_of(changes.mtime)};
  const auto set = [&] { return ::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0; };
  Status status = Status::acces;
  if (const ActingAs acting(user(caller)); acting) status = set() ? Status::ok : status_of(errno);
  const bool to_now = changes.atime.how != SetTime::How::client && changes.mtime.how != SetTime::How::client;
  if (status != Status::perm || !to_now) return status;
  const auto may = rights(caller, fd, stat);
  if (!may) return may.error();
  if ((*may & access::kMayWrite) == 0) return Status::acces;
  return set() ? Status::ok : status_of(errno);
}

Status PosixFileSystem::change(const Caller& caller, const NodeKey& key, const Node& node, const SetAttributes& changes,
                               const std::optional<Time>& guard) {
  const FileType type = node.stat.attributes.type;
  // RFC 1813 section 3.3.2: the guard prevents a change from being applied twice, or to a newer state of the object.
  if (guard && *guard != node.stat.attributes.ctime) return Status::not_sync;
  if (const Status s = check_changes(changes, type); s != Status::ok) return s;
  if (changes.size) {
    if (const Status s = truncate(caller, key, *changes.size); s != Status::ok) return s;
  }
  return apply(caller, node.fd.get(), node.stat, without_moot(changes, type));
}

ChangeResult PosixFileSystem::set_attributes(const Caller& caller, const NodeKey& key, const SetAttributes& changes,
                                             const std::optional<Time>& guard) {
  act_as_server();
  ChangeResult result;
  Watched watched;
  std::unique_lock lock(lock_of(key));
  const auto node = open_node(key);
  if (!node) return {node.error(), {}};
  if (caller.sync) watched = watch(node->stat);
  result.status = change(caller, key, *node, changes, guard);
  result.wcc = wcc_after(*node, false);
  lock.unlock();
  if (result.status == Status::ok && caller.sync)
    result.status = flush(node->fd, node->stat.attributes.type, std::move(watched));
  return result;
}

}  // namespace rpcrdma::nfsd
