// SPDX-License-Identifier: BSD-3-Clause
// Decides which callers may read and write the data of a file, and opens descriptors for them.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "posix_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

/// A caller that may execute a file may read it, because a client must read a program to run it.
StatusOr<Fd> PosixFileSystem::open_to_read(const Caller& caller, const Node& node) const {
  StatusOr<Fd> opened = Status::acces;
  if (const ActingAs acting(user(caller)); acting) opened = reopen(node.fd.get(), O_RDONLY);
  if (opened || opened.error() != Status::acces) return opened;
  const auto may = rights(caller, node);
  if (!may || (*may & access::kMayExecute) == 0) return opened;
  return reopen(node.fd.get(), O_RDONLY);
}

/// Opens for reading as well if that is permitted, so that one descriptor serves both uses.
Status PosixFileSystem::open_to_write(const Caller& caller, const Node& node, OpenFile& out) const {
  const ActingAs acting(user(caller));
  if (!acting) return status_of(identity_error());
  auto opened = reopen(node.fd.get(), O_RDWR);
  out.readable = static_cast<bool>(opened);
  if (!opened && opened.error() == Status::acces) opened = reopen(node.fd.get(), O_WRONLY);
  if (!opened) return opened.error();
  out.fd = std::move(*opened);
  return Status::ok;
}

Status PosixFileSystem::open_as(const Caller& caller, const Node& node, Use use, OpenFile& out) {
  out.writable = use == Use::write;
  Status refused = Status::ok;
  if (use == Use::write) {
    refused = open_to_write(caller, node, out);
  } else if (auto opened = open_to_read(caller, node); opened) {
    out.readable = true;
    out.fd = std::move(*opened);
  } else {
    refused = opened.error();
  }
  if (refused != Status::acces || node.stat.attributes.uid != owner(caller)) return refused;
  // The mode denies the access, but the server permits it to the owner of the file. The owner may have opened the file
  // on the client before the mode was changed. On a local file system, the owner could still use the open file. NFSv3
  // does not tell the server which files a client has open.
  const int flags = use == Use::read ? O_RDONLY : O_RDWR;
  auto opened = acts_ ? reopen(node.fd.get(), flags) : open_own(node.fd.get(), flags);
  if (!opened) return opened.error();
  out.readable = true;
  out.fd = std::move(*opened);
  return Status::ok;
}

/// For a server without privilege: opens one of its own files although the mode denies it. Adds the owner's rights to
/// the mode while it opens the file; if the server is killed meanwhile, these rights stay.
StatusOr<Fd> PosixFileSystem::open_own(int fd, int flags) {
  const std::lock_guard lock(modes_mutex_);
  const auto stat = stat_fd(fd);
  if (!stat) return stat.error();
  const mode_t mode = stat->attributes.mode;
  // Refuses a file with the set-group-ID bit. If the server is not in the group of the file, chmod() clears the bit,
  // and the server cannot set it again.
  if ((mode & S_ISGID) != 0) return Status::acces;
  const ProcPath path(fd);
  if (::fchmodat(path.folder, path.text, mode | S_IRUSR | S_IWUSR, 0) != 0) return Status::acces;
  auto opened = reopen(fd, flags);
  if (::fchmodat(path.folder, path.text, mode, 0) != 0) return status_of(errno);
  return opened;
}

/// Returns true if the rights with which `caller` opened `file` are still valid under the present attributes `now`. If
/// the caller owns the file, a change of its mode does not end these rights: open_as() grants them to the owner
/// although the mode denies them.
bool PosixFileSystem::still_granted(const Caller& caller, const OpenFile& file, const Attributes& now) const noexcept {
  return file.uid == owner(caller) ? now.uid == file.uid : file.granted_under(now);
}

/// Keeps the descriptor with which `caller` has created a file, because the next call is likely to write the file. The
/// descriptor permits reading and writing, whatever the mode, as it does for a local program that creates a file.
/// A file system that may be on another host cannot remove a file that is open. There, the descriptor is kept only if
/// the caller could not open the file again. If memory runs out, the next call opens the file.
void PosixFileSystem::keep_open(const Caller& caller, const NodeResult& made, Unsettled& created) noexcept {
  const Attributes& attributes = *made.attributes;
  if (!local_ && (acts_ || (attributes.mode & 0600u) == 0600u)) return;
  try {
    auto file = late_close_.make();
    file->id = id_of(*created.stat);
    file->readable = file->writable = true;
    file->back = write_backs_.of(file->id);
    file->opened_under(attributes);
    file->fd = created.fd.take();
    descriptors_.put(made.node, owner_of_descriptors(caller), std::move(file));
  } catch (const std::bad_alloc&) {
  }
}

StatusOr<PosixFileSystem::OpenFilePtr> PosixFileSystem::open_data(const Caller& caller, const NodeKey& key, Use use) {
  if (OpenFilePtr kept = descriptors_.find(key, owner_of_descriptors(caller), use); kept != nullptr) return kept;
  const auto node = open_node(key);
  if (!node) return node.error();
  const Attributes& attributes = node->stat.attributes;
  // Never opens a device or FIFO: that could block, or have side effects.
  if (attributes.type == FileType::directory) return Status::isdir;
  if (attributes.type != FileType::regular) return Status::inval;
  auto file = late_close_.make();
  file->id = id_of(node->stat);
  file->opened_under(attributes);
  if (const Status s = open_as(caller, *node, use, *file); s != Status::ok) return s;
  if (use == Use::write) {
    const auto now = stat_fd(file->fd.get());
    if (!now) return now.error();
    locator_->changed(node->stat, *now);
    file->id = id_of(*now);
    file->back = write_backs_.of(file->id);
  }
  descriptors_.put(key, owner_of_descriptors(caller), file);
  return OpenFilePtr(std::move(file));
}

StatusOr<NodeStat> PosixFileSystem::check_open(const Caller& caller, const NodeKey& key, Use use, OpenFilePtr& file) {
  const auto stat = stat_fd(file->fd.get());
  if (!stat) return stat;
  if (stat->attributes.links != 0 && still_granted(caller, *file, stat->attributes)) return stat;
  descriptors_.drop(key);
  if (stat->attributes.links == 0) return Status::stale;
  auto opened = open_data(caller, key, use);
  if (!opened) return opened.error();
  file = std::move(*opened);
  return stat_fd(file->fd.get());
}

}  // namespace rpcrdma::nfsd
