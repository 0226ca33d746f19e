// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>
#include <string>

#include "posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

/// Both locks without a deadlock; one if they are the same.
class LockBoth {
 public:
  LockBoth(std::mutex& a, std::mutex& b) : first_(a, std::defer_lock), second_(b, std::defer_lock) {
    if (&a == &b)
      first_.lock();
    else
      std::lock(first_, second_);
  }

 private:
  std::unique_lock<std::mutex> first_;
  std::unique_lock<std::mutex> second_;
};

}  // namespace

void PosixFileSystem::before_unlink(const Directory& directory, std::string_view name, NodeStat& stat, NodeKey& key) {
  Fd fd;
  if (open_component(directory.fd.get(), name, fd) != Status::ok || stat_fd(fd.get(), stat) != Status::ok) return;
  if (locator_->key_of(fd.get(), stat, directory.number(), name, key) != Status::ok) key = {};
}

ChangeResult PosixFileSystem::unlink(const NodeKey& key, std::string_view name, int flags) {
  ChangeResult result;
  Directory directory;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  const std::lock_guard lock(lock_of(key));
  result.status = refresh(directory);
  if (result.status == Status::ok)
    result.status = (flags & AT_REMOVEDIR) != 0 ? check_rmdir_name(name) : check_old_name(name);
  if (result.status == Status::ok) {
    NodeStat stat;
    NodeKey victim;
    before_unlink(directory, name, stat, victim);
    if (::unlinkat(directory.fd.get(), std::string(name).c_str(), flags) != 0) {
      result.status = status_of(errno);
    } else if (!victim.empty() && (is_directory(stat) || stat.attributes.links <= 1)) {
      descriptors_.drop(victim);
      locator_->removed(stat.attributes.fileid);
    }
  }
  result.wcc = wcc_after(directory);
  return result;
}

ChangeResult PosixFileSystem::remove(const Caller&, const NodeKey& directory, std::string_view name) {
  return unlink(directory, name, 0);
}

ChangeResult PosixFileSystem::remove_directory(const Caller&, const NodeKey& directory, std::string_view name) {
  return unlink(directory, name, AT_REMOVEDIR);
}

RenameResult PosixFileSystem::rename(const Caller&, const NodeKey& from_key, std::string_view from,
                                     const NodeKey& to_key, std::string_view to) {
  RenameResult result;
  Directory source;
  Directory target;
  result.status = open_directory(from_key, source);
  if (result.status == Status::ok) result.status = open_directory(to_key, target);
  if (result.status != Status::ok) return result;
  const LockBoth lock(lock_of(from_key), lock_of(to_key));
  result.status = refresh(source);
  if (result.status == Status::ok) result.status = refresh(target);
  if (result.status == Status::ok) result.status = check_old_name(from);
  if (result.status == Status::ok) result.status = check_old_name(to);
  if (result.status == Status::ok) {
    NodeStat moved;
    NodeStat replaced;
    NodeKey moved_key;
    NodeKey replaced_key;
    before_unlink(source, from, moved, moved_key);
    before_unlink(target, to, replaced, replaced_key);
    const bool same = !moved_key.empty() && moved_key == replaced_key;
    if (::renameat(source.fd.get(), std::string(from).c_str(), target.fd.get(), std::string(to).c_str()) != 0) {
      result.status = status_of(errno);
    } else if (!same) {
      if (!replaced_key.empty() && (is_directory(replaced) || replaced.attributes.links <= 1)) {
        descriptors_.drop(replaced_key);
        locator_->removed(replaced.attributes.fileid);
      }
      if (!moved_key.empty()) locator_->moved(moved, target.number(), to);
    }
  }
  result.from = wcc_after(source);
  result.to = wcc_after(target);
  return result;
}

LinkResult PosixFileSystem::link(const Caller&, const NodeKey& node, const NodeKey& key, std::string_view name) {
  LinkResult result;
  Fd fd;
  Directory directory;
  NodeStat stat;
  result.status = locator_->open(node, fd);
  if (result.status == Status::ok) result.status = stat_fd(fd.get(), stat);
  if (result.status == Status::ok) result.file = stat.attributes;
  if (result.status == Status::ok) result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  const std::lock_guard lock(lock_of(key));
  result.status = refresh(directory);
  if (result.status == Status::ok) result.status = check_new_name(name);
  if (result.status == Status::ok && is_directory(stat)) result.status = Status::isdir;
  if (result.status == Status::ok && ::linkat(AT_FDCWD, ProcPath(fd.get()).text, directory.fd.get(),
                                              std::string(name).c_str(), AT_SYMLINK_FOLLOW) != 0)
    result.status = status_of(errno);
  if (stat_fd(fd.get(), stat) == Status::ok) result.file = stat.attributes;
  result.directory = wcc_after(directory);
  return result;
}

}  // namespace rpcrdma::nfsd
