// SPDX-License-Identifier: BSD-3-Clause
// Who may read and write the data of a file, and with which descriptor.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "posix_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

/// Who may execute a file may read it, for that is how a client runs it.
Status PosixFileSystem::open_to_read(const Caller& caller, int fd, const NodeStat& stat, Fd& out) const {
  Status status = Status::acces;
  if (const ActingAs acting(user(caller)); acting) status = reopen(fd, O_RDONLY, out);
  std::uint32_t may = 0;
  if (status != Status::acces || rights(caller, fd, stat, may) != Status::ok) return status;
  return (may & access::kMayExecute) != 0 ? reopen(fd, O_RDONLY, out) : Status::acces;
}

/// For reading as well if it may be, so that one descriptor does for both.
Status PosixFileSystem::open_to_write(const Caller& caller, int fd, Fd& out, bool& readable) const {
  const ActingAs acting(user(caller));
  if (!acting) return Status::acces;
  const Status status = reopen(fd, O_RDWR, out);
  readable = status == Status::ok;
  return status == Status::acces ? reopen(fd, O_WRONLY, out) : status;
}

Status PosixFileSystem::open_as(const Caller& caller, int fd, const NodeStat& stat, Use use, OpenFile& out) {
  out.readable = true;
  out.writable = use == Use::write;
  const Status status =
      use == Use::read ? open_to_read(caller, fd, stat, out.fd) : open_to_write(caller, fd, out.fd, out.readable);
  if (status != Status::acces || stat.attributes.uid != (acts_ ? caller.uid : itself_.uid)) return status;
  // The owner may go on with a file whatever its mode says now: a local program could that has it open.
  out.readable = true;
  const int flags = use == Use::read ? O_RDONLY : O_RDWR;
  return acts_ ? reopen(fd, flags, out.fd) : open_own(fd, flags, out.fd);
}

/// No mode stops a server with privilege. Another one gives itself, for the moment of opening, what the mode of its own
/// file denies it. Killed in that moment, it leaves the file so: its owner's, as before.
Status PosixFileSystem::open_own(int fd, int flags, Fd& out) {
  const std::lock_guard lock(modes_mutex_);
  NodeStat stat;
  if (const Status s = stat_fd(fd, stat); s != Status::ok) return s;
  const mode_t mode = stat.attributes.mode;
  // Of a foreign group's, the bit would not come back.
  if ((mode & S_ISGID) != 0) return Status::acces;
  const ProcPath path(fd);
  if (::chmod(path.text, mode | S_IRUSR | S_IWUSR) != 0) return Status::acces;
  const Status status = reopen(fd, flags, out);
  return ::chmod(path.text, mode) == 0 ? status : status_of(errno);
}

/// Modes bind the owner neither when it opens its file (open_as) nor afterwards.
bool PosixFileSystem::still_granted(const OpenFile& file, const Attributes& now) const noexcept {
  if (!acts_ && file.uid == itself_.uid) return now.uid == file.uid;
  return file.granted_under(now);
}

/// What a new file is opened with may do more than its mode lets its owner do.
void PosixFileSystem::keep_open(const Caller& caller, const NodeKey& key, Fd fd) {
  NodeStat stat;
  if (stat_fd(fd.get(), stat) != Status::ok) return;
  auto file = late_close_.make();
  file->fd = std::move(fd);
  file->readable = file->writable = true;
  file->back = write_backs_.of({stat.attributes.fileid, stat.device});
  file->mode = stat.attributes.mode;
  file->uid = stat.attributes.uid;
  file->gid = stat.attributes.gid;
  descriptors_.put(key, owner_of_descriptors(caller), std::move(file));
}

Status PosixFileSystem::open_data(const Caller& caller, const NodeKey& key, Use use,
                                  std::shared_ptr<const OpenFile>& out) {
  out = descriptors_.find(key, owner_of_descriptors(caller), use);
  if (out != nullptr) return Status::ok;
  Fd fd;
  NodeStat stat;
  if (const Status s = locator_->open(key, fd); s != Status::ok) return s;
  if (const Status s = stat_fd(fd.get(), stat); s != Status::ok) return s;
  // A device or FIFO is never opened: that could block, or do things.
  if (stat.attributes.type == FileType::directory) return Status::isdir;
  if (stat.attributes.type != FileType::regular) return Status::inval;
  auto file = late_close_.make();
  file->mode = stat.attributes.mode;
  file->uid = stat.attributes.uid;
  file->gid = stat.attributes.gid;
  if (const Status s = open_as(caller, fd.get(), stat, use, *file); s != Status::ok) return s;
  NodeStat now;
  if (use == Use::write) {
    if (const Status s = stat_fd(file->fd.get(), now); s != Status::ok) return s;
    if (locator_->follows_changes()) locator_->changed(stat, now);
    file->back = write_backs_.of({now.attributes.fileid, now.device});
  }
  descriptors_.put(key, owner_of_descriptors(caller), file);
  out = std::move(file);
  return Status::ok;
}

Status PosixFileSystem::check_open(const Caller& caller, const NodeKey& key, Use use,
                                   std::shared_ptr<const OpenFile>& file, NodeStat& stat) {
  if (const Status s = stat_fd(file->fd.get(), stat); s != Status::ok) return s;
  if (stat.attributes.links == 0) {
    descriptors_.drop(key);
    return Status::stale;
  }
  if (still_granted(*file, stat.attributes)) return Status::ok;
  descriptors_.drop(key);
  if (const Status s = open_data(caller, key, use, file); s != Status::ok) return s;
  return stat_fd(file->fd.get(), stat);
}

}  // namespace rpcrdma::nfsd
