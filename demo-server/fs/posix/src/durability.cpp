// SPDX-License-Identifier: BSD-3-Clause
// Operation: unless the export is asynchronous, a change of names or attributes reaches the disk before it is reported.
// No lock is held while it is written, so that the file system can write many changes at once.
// Ownership: for an fsync, an object without a descriptor for data is opened again, with the server's rights; a
// directory in KeptNodes is opened only once.
// Error handling: a change that is not on the disk is reported as failed, although it is visible.
#include <fcntl.h>

#include <cerrno>

#include "open_files/commit_order.hpp"
#include "posix_file_system.hpp"

namespace rpcrdma::nfsd {

Status PosixFileSystem::flush_all() {
  act_as_server();
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
  Watched watched{write_backs_.of(id_of(stat)), 0};
  watched.failures = watched.file->failures();
  return watched;
}

/// Writes an object to the disk. If `for_data` is true, fsync(2) accepts `fd`. Otherwise `fd` is an O_PATH descriptor,
/// and flush() opens the object again. If the object cannot be opened, flush() calls flush_all() instead. It also calls
/// flush_all() for an object that is neither a regular file nor a directory, because a symbolic link cannot be opened,
/// and opening a FIFO or a device has side effects.
Status PosixFileSystem::flush(const NodeFd& fd, FileType type, Watched watched, bool for_data) {
  const bool directory = type == FileType::directory;
  if (!directory && type != FileType::regular) return flush_all();
  if (!for_data) act_as_server();
  const auto opened = for_data ? StatusOr<Fd>(Fd()) : reopen(fd.get(), O_RDONLY | (directory ? O_DIRECTORY : 0));
  if (!opened) return flush_all();
  const int open = for_data ? fd.get() : opened->get();
  if (directory) return ::fsync(open) == 0 || has_no_fsync(errno) ? Status::ok : status_of(errno);
  if (watched.file == nullptr) {
    const auto stat = stat_fd(open);
    if (!stat) return stat.error();
    watched = watch(*stat);
  }
  const Status status = watched.file->sync(open, Stable::file_sync, watched.failures);
  return status == Status::inval || status == Status::notsupp ? Status::ok : status;
}

Status PosixFileSystem::flush_directory(const Node& directory) {
  const KeptNode* const kept = directory.fd.kept();
  if (kept == nullptr) return flush(directory.fd, FileType::directory, {});
  const auto status = kept->to_disk.sync(directory.fd.get(), directory.failures);
  return status ? *status : flush_all();
}

Status PosixFileSystem::settle(const Caller& caller, const Node& directory, const Unsettled& unsettled) {
  if (!caller.sync) return Status::ok;
  const bool separately = unsettled.fd && !unsettled.with_directory;
  // In the journal, the last change of the object does not precede the change of the directory.
  const bool both = separately && commits_in_order_;
  const Status status = both ? Status::ok : flush_directory(directory);
  if (status != Status::ok || !separately) return status;
  const Watched watched = unsettled.stat ? watch(*unsettled.stat) : Watched{};
  return flush(unsettled.fd, unsettled.type, watched, unsettled.for_data);
}

}  // namespace rpcrdma::nfsd
