// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Linux system calls in the server's types. stat_fd(), open_component() and reopen() set errno on failure.
#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "locate/object_id.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/status_or.hpp"

namespace rpcrdma::nfsd {

/// The nfsstat3 for an errno value.
Status status_of(int error) noexcept;

/// True if `error`, of fsync(2) on a directory, means that the file system has no fsync for directories. Such a file
/// system orders the changes of directories itself.
bool has_no_fsync(int error) noexcept;

/// The present time of the system clock (CLOCK_REALTIME), from which file systems take their timestamps.
Time present_time() noexcept;

/// The result of statx(2); the birth time is 0 where the file system has none.
struct NodeStat {
  Attributes attributes;
  std::uint64_t birth = 0;   ///< nanoseconds since 1970
  std::uint64_t device = 0;  ///< the device on which the inode number is unique; may differ within one mount
};
/// Attributes of an open descriptor, O_PATH included.
StatusOr<NodeStat> stat_fd(int fd) noexcept;
/// Attributes of the entry `name` of `directory`. Does not follow the entry if it is a symbolic link. Returns
/// Status::acces if another mount begins at the entry. Returns Status::notsupp if the kernel is older than 5.8 and
/// therefore does not report whether a mount begins there. `flags`: additional flags of statx(2).
StatusOr<NodeStat> stat_at(int directory, std::string_view name, int flags) noexcept;
inline bool is_directory(const NodeStat& s) noexcept { return s.attributes.type == FileType::directory; }
inline ObjectId id_of(const NodeStat& s) noexcept { return {s.attributes.fileid, s.device}; }
inline bool same_object(const NodeStat& a, const NodeStat& b) noexcept {
  return a.attributes.fileid == b.attributes.fileid && a.device == b.device;
}

/// Opens the entry `name` of `directory` with O_PATH. `name` is a single path component. If it names a symbolic link,
/// opens the link itself. Returns Status::acces if another mount begins at the entry.
StatusOr<Fd> open_component(int directory, std::string_view name);
/// As open_component(), but never blocks: returns nothing unless the kernel's cache contains the name, or the fact that
/// the name does not exist.
std::optional<StatusOr<Fd>> open_component_at_once(int directory, std::string_view name);
/// Opens the object of an O_PATH descriptor for I/O. Only for files and directories.
StatusOr<Fd> reopen(int fd, int flags);
/// A path that leads to the object of `fd`, for system calls that take a directory and a path: `text` in `folder`,
/// which is /proc/self/fd. The kernel finds the object in half the time that the whole path takes it. A child after
/// fork() must not use these paths, because they lead to the descriptors of the parent.
struct ProcPath {
  explicit ProcPath(int fd) noexcept;
  int folder;
  char text[40];
};

}  // namespace rpcrdma::nfsd
