// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>
#include <string>

#include "posix_file_system.hpp"

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

void PosixFileSystem::before_unlink(const Directory& directory, std::string_view name, Victim& out) {
  Fd fd;
  if (open_component(directory.fd.get(), name, fd) != Status::ok || stat_fd(fd.get(), out.stat) != Status::ok) return;
  // Not to be remembered under a name that is about to go.
  if (locator_->key_of(fd.get(), out.stat, directory.before, {}, out.key) != Status::ok) out.key = {};
  // Only where it is needed: an open file keeps a network file system from removing it.
  if (!is_directory(out.stat) && out.stat.attributes.links > 1) out.fd = std::move(fd);
}

ChangeResult PosixFileSystem::unlink(const Caller& caller, const NodeKey& key, std::string_view name, int flags) {
  ChangeResult result;
  Directory directory;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  {
    const std::lock_guard lock(lock_of(key));
    result.status = refresh(directory);
    if (result.status == Status::ok)
      result.status = (flags & AT_REMOVEDIR) != 0 ? check_rmdir_name(name) : check_old_name(name);
    if (result.status == Status::ok) {
      Victim victim;
      before_unlink(directory, name, victim);
      const std::string text(name);
      const int error = as_caller(caller, [&] { return ::unlinkat(directory.fd.get(), text.c_str(), flags); });
      result.status = status_of(error);
      if (error == 0) forget(directory, name, victim);
    }
    result.wcc = wcc_after(directory, result.status == Status::ok);
  }
  if (result.status == Status::ok) result.status = settle(caller, directory, {});
  return result;
}

/// After a name is gone: if it was the last one, so is the object. How many there are now counts, as another of them
/// may have gone at the same time.
void PosixFileSystem::forget(const Directory& directory, std::string_view name, const Victim& victim) {
  if (victim.key.empty()) return;
  NodeStat now;
  if (victim.fd && stat_fd(victim.fd.get(), now) == Status::ok && now.attributes.links != 0)
    return locator_->unnamed(victim.stat, directory.before, name);
  descriptors_.drop(victim.key);
  write_backs_.unnamed({victim.stat.attributes.fileid, victim.stat.device});
  locator_->removed(victim.stat);
}

ChangeResult PosixFileSystem::remove(const Caller& caller, const NodeKey& directory, std::string_view name) {
  return unlink(caller, directory, name, 0);
}

ChangeResult PosixFileSystem::remove_directory(const Caller& caller, const NodeKey& directory, std::string_view name) {
  return unlink(caller, directory, name, AT_REMOVEDIR);
}

Status PosixFileSystem::move(const Caller& caller, const Directory& source, std::string_view from,
                             const Directory& target, std::string_view to) {
  Victim moved;
  Victim replaced;
  before_unlink(source, from, moved);
  before_unlink(target, to, replaced);
  Fd followed;
  NodeStat before;
  NodeStat now;
  const bool follows = locator_->follows_changes() && open_component(source.fd.get(), from, followed) == Status::ok &&
                       stat_fd(followed.get(), before) == Status::ok;
  const std::string from_text(from);
  const std::string to_text(to);
  const int error = as_caller(
      caller, [&] { return ::renameat(source.fd.get(), from_text.c_str(), target.fd.get(), to_text.c_str()); });
  if (error != 0) return status_of(error);
  // Two names of one object: nothing has been done.
  if (!moved.key.empty() && moved.key == replaced.key) return Status::ok;
  forget(target, to, replaced);
  if (moved.key.empty()) return Status::ok;
  if (follows && stat_fd(followed.get(), now) == Status::ok) {
    locator_->changed(before, now);
    moved.stat = now;
  }
  locator_->unnamed(moved.stat, source.before, from);
  locator_->named(moved.stat, target.before, to);
  return Status::ok;
}

/// A directory that has come from elsewhere holds its parent, as "..".
void PosixFileSystem::moved_folder(const Directory& target, std::string_view name, Unsettled& unsettled) const {
  Fd fd;
  NodeStat stat;
  if (commits_in_order_ || open_component(target.fd.get(), name, fd) != Status::ok) return;
  if (stat_fd(fd.get(), stat) == Status::ok && is_directory(stat)) unsettled = {std::move(fd), FileType::directory};
}

RenameResult PosixFileSystem::rename(const Caller& caller, const NodeKey& from_key, std::string_view from,
                                     const NodeKey& to_key, std::string_view to) {
  RenameResult result;
  Directory source;
  Directory target;
  Unsettled unsettled;
  result.status = open_directory(from_key, source);
  if (result.status == Status::ok) result.status = open_directory(to_key, target);
  if (result.status != Status::ok) return result;
  {
    const LockBoth lock(lock_of(from_key), lock_of(to_key));
    result.status = refresh(source);
    if (result.status == Status::ok) result.status = refresh(target);
    if (result.status == Status::ok) result.status = check_old_name(from);
    if (result.status == Status::ok) result.status = check_old_name(to);
    if (result.status == Status::ok) result.status = move(caller, source, from, target, to);
    if (result.status == Status::ok && !same_object(source.before, target.before)) moved_folder(target, to, unsettled);
    result.from = wcc_after(source, result.status == Status::ok);
    result.to = wcc_after(target, result.status == Status::ok);
  }
  // The new name first: one of the two is on the disk at any time.
  if (result.status == Status::ok) result.status = settle(caller, target, unsettled);
  if (result.status == Status::ok && !same_object(source.before, target.before))
    result.status = settle(caller, source, {});
  return result;
}

LinkResult PosixFileSystem::link(const Caller& caller, const NodeKey& node, const NodeKey& key, std::string_view name) {
  LinkResult result;
  Fd fd;
  Directory directory;
  NodeStat stat;
  result.status = locator_->open(node, fd);
  if (result.status == Status::ok) result.status = stat_fd(fd.get(), stat);
  if (result.status == Status::ok) result.file = stat.attributes;
  if (result.status == Status::ok) result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  {
    const std::lock_guard lock(lock_of(key));
    result.status = refresh(directory);
    if (result.status == Status::ok) result.status = check_new_name(name);
    if (result.status == Status::ok && is_directory(stat)) result.status = Status::isdir;
    const ProcPath path(fd.get());
    const std::string text(name);
    if (result.status == Status::ok)
      result.status = status_of(as_caller(
          caller, [&] { return ::linkat(AT_FDCWD, path.text, directory.fd.get(), text.c_str(), AT_SYMLINK_FOLLOW); }));
    const NodeStat before = stat;
    if (stat_fd(fd.get(), stat) == Status::ok) {
      if (result.status == Status::ok) touch_inode(fd.get(), stat);
      result.file = stat.attributes;
    }
    if (locator_->follows_changes()) locator_->changed(before, stat);
    if (result.status == Status::ok) locator_->named(stat, directory.before, name);
    result.directory = wcc_after(directory, result.status == Status::ok);
  }
  // The number of its names is the file's own.
  Unsettled unsettled;
  if (!commits_in_order_) unsettled = {std::move(fd), stat.attributes.type};
  if (result.status == Status::ok) result.status = settle(caller, directory, unsettled);
  return result;
}

}  // namespace rpcrdma::nfsd
