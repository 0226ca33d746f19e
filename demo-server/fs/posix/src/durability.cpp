// SPDX-License-Identifier: BSD-3-Clause
// Operation: a change reaches the disk before it is reported. No lock is held while it is written, so that the file
// system can write many changes at once.
// Ownership: objects are opened again for fsync, with the server's rights.
// Error handling: a change that is not on the disk is reported as failed, although it is visible.
#include <fcntl.h>

#include <cerrno>

#include "open_files/commit_order.hpp"
#include "posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

/// True if the file system has no fsync for directories: it then orders these changes itself.
bool has_no_fsync(int error) noexcept { return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP; }

}  // namespace

Status PosixFileSystem::flush_all() {
  if (commits_in_order_) {
    const Status status = commit_changes(readable_root_.get());
    if (status != Status::notsupp) return status;
  }
  if (::syncfs(readable_root_.get()) == 0) return Status::ok;
  const Status status = status_of(errno);
  verifier_.fetch_add(1, std::memory_order_relaxed);
  return status;
}

PosixFileSystem::Watched PosixFileSystem::watch(const NodeStat& stat) {
  if (stat.attributes.type != FileType::regular) return {};
  Watched watched{write_backs_.of({stat.attributes.fileid, stat.device}), 0};
  watched.failures = watched.file->failures();
  return watched;
}

/// Writes an object to the disk. One that cannot be opened without side effects (a FIFO, a device) or at all (a
/// symbolic link) is written together with all other changes.
Status PosixFileSystem::flush(int fd, FileType type, Watched watched) {
  const bool directory = type == FileType::directory;
  if (!directory && type != FileType::regular) return flush_all();
  const auto opened = reopen(fd, O_RDONLY | (directory ? O_DIRECTORY : 0));
  if (!opened) return flush_all();
  if (directory) return ::fsync(opened->get()) == 0 || has_no_fsync(errno) ? Status::ok : status_of(errno);
  if (watched.file == nullptr) {
    const auto stat = stat_fd(opened->get());
    if (!stat) return stat.error();
    watched = watch(*stat);
  }
  const Status status = watched.file->sync(opened->get(), Stable::file_sync, watched.failures);
  return status == Status::inval || status == Status::notsupp ? Status::ok : status;
}

Status PosixFileSystem::settle(const Caller& caller, const Node& directory, const Unsettled& unsettled) {
  if (!caller.sync) return Status::ok;
  const Status status = flush(directory.fd.get(), FileType::directory, {});
  if (status != Status::ok || !unsettled.fd) return status;
  return flush(unsettled.fd.get(), unsettled.type, {});
}

}  // namespace rpcrdma::nfsd
