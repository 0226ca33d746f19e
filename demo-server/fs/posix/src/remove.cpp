// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>
#include <string>

#include "posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

/// Locks both mutexes without a deadlock; locks only one if they are the same.
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

std::optional<PosixFileSystem::Victim> PosixFileSystem::before_unlink(const Node& directory,
                                                                      std::string_view name) const {
  auto fd = open_component(directory.fd.get(), name);
  if (!fd) return std::nullopt;
  const auto stat = stat_fd(fd->get());
  if (!stat) return std::nullopt;
  // Passes no name: the name is about to be removed, and must not be remembered.
  const auto key = locator_->key_of(fd->get(), *stat, directory.stat, {});
  if (!key) return std::nullopt;
  return Victim{{std::move(*fd), *stat}, *key};
}

ChangeResult PosixFileSystem::unlink(const Caller& caller, const NodeKey& key, std::string_view name, int flags) {
  ChangeResult result;
  result.status = in_directory(caller, key, result.wcc, [&](const Node& directory, Unsettled&) {
    const Status bad = (flags & AT_REMOVEDIR) != 0 ? check_rmdir_name(name) : check_old_name(name);
    if (bad != Status::ok) return bad;
    auto victim = before_unlink(directory, name);
    // Closes the descriptor if it is not needed: an open file would keep a network file system from removing it.
    if (victim && victim->node.stat.attributes.links < 2) victim->node.fd = {};
    const std::string text(name);
    const int error = as_caller(caller, [&] { return ::unlinkat(directory.fd.get(), text.c_str(), flags); });
    if (error == 0 && victim) forget(directory, name, *victim);
    return status_of(error);
  });
  return result;
}

/// Forgets a name that has been removed and, if it was the last one, the object. Uses the present number of names, as
/// another name may have been removed at the same time.
void PosixFileSystem::forget(const Node& directory, std::string_view name, const Victim& victim) {
  const NodeStat& before = victim.node.stat;
  if (victim.node.fd && !is_directory(before)) {
    const auto now = stat_fd(victim.node.fd.get());
    if (now && now->attributes.links != 0) return locator_->unnamed(before, directory.stat, name);
  }
  descriptors_.drop(victim.key);
  write_backs_.unnamed({before.attributes.fileid, before.device});
  locator_->removed(before);
}

ChangeResult PosixFileSystem::remove(const Caller& caller, const NodeKey& directory, std::string_view name) {
  return unlink(caller, directory, name, 0);
}

ChangeResult PosixFileSystem::remove_directory(const Caller& caller, const NodeKey& directory, std::string_view name) {
  return unlink(caller, directory, name, AT_REMOVEDIR);
}

Status PosixFileSystem::move(const Caller& caller, Node& source, std::string_view from, Node& target,
                             std::string_view to) {
  if (const Status s = refresh(source); s != Status::ok) return s;
  if (const Status s = refresh(target); s != Status::ok) return s;
  if (const Status s = check_old_name(from); s != Status::ok) return s;
  if (const Status s = check_old_name(to); s != Status::ok) return s;
  const auto moved = before_unlink(source, from);
  auto replaced = before_unlink(target, to);
  if (replaced && replaced->node.stat.attributes.links < 2) replaced->node.fd = {};
  const std::string from_text(from);
  const std::string to_text(to);
  const int error = as_caller(
      caller, [&] { return ::renameat(source.fd.get(), from_text.c_str(), target.fd.get(), to_text.c_str()); });
  if (error != 0) return status_of(error);
  // Two names of one object: rename() has done nothing.
  if (moved && replaced && moved->key == replaced->key) return Status::ok;
  if (replaced) forget(target, to, *replaced);
  if (!moved) return Status::ok;
  const auto now = stat_fd(moved->node.fd.get());
  if (!now) return Status::ok;
  locator_->changed(moved->node.stat, *now);
  locator_->unnamed(*now, source.stat, from);
  locator_->named(*now, target.stat, to);
  return Status::ok;
}

/// A directory moved to another directory must be written itself, because its ".." has changed.
PosixFileSystem::Unsettled PosixFileSystem::moved_directory(const Node& target, std::string_view name) const {
  if (commits_in_order_) return {};
  auto fd = open_component(target.fd.get(), name);
  if (!fd) return {};
  const auto stat = stat_fd(fd->get());
  return stat && is_directory(*stat) ? Unsettled{std::move(*fd), FileType::directory} : Unsettled{};
}

RenameResult PosixFileSystem::rename(const Caller& caller, const NodeKey& from_key, std::string_view from,
                                     const NodeKey& to_key, std::string_view to) {
  auto source = open_directory(from_key);
  if (!source) return {source.error(), {}, {}};
  auto target = open_directory(to_key);
  if (!target) return {target.error(), {}, {}};
  RenameResult result;
  Unsettled unsettled;
  const bool one_directory = same_object(source->stat, target->stat);
  {
    const LockBoth lock(lock_of(from_key), lock_of(to_key));
    result.status = move(caller, *source, from, *target, to);
    const bool moved = result.status == Status::ok;
    if (moved && !one_directory) unsettled = moved_directory(*target, to);
    result.from = wcc_after(*source, moved);
    result.to = wcc_after(*target, moved);
  }
  if (result.status != Status::ok) return result;
  // Settles the new name first, so that one of the two is on the disk at any time.
  result.status = settle(caller, *target, unsettled);
  if (result.status == Status::ok && !one_directory) result.status = settle(caller, *source, {});
  return result;
}

Status PosixFileSystem::link_file(const Caller& caller, Node& file, const Node& directory,
                                  std::string_view name) const {
  if (const Status s = check_new_name(name); s != Status::ok) return s;
  if (is_directory(file.stat)) return Status::isdir;
  const ProcPath path(file.fd.get());
  const std::string text(name);
  const int error = as_caller(
      caller, [&] { return ::linkat(AT_FDCWD, path.text, directory.fd.get(), text.c_str(), AT_SYMLINK_FOLLOW); });
  const NodeStat before = file.stat;
  if (const Status s = refresh(file); s == Status::ok) locator_->changed(before, file.stat);
  if (error != 0) return status_of(error);
  touch_inode(file.fd.get(), file.stat);
  locator_->named(file.stat, directory.stat, name);
  return Status::ok;
}

LinkResult PosixFileSystem::link(const Caller& caller, const NodeKey& node, const NodeKey& key, std::string_view name) {
  auto file = open_node(node);
  if (!file) return {file.error(), {}, {}};
  LinkResult result;
  result.status = in_directory(caller, key, result.directory, [&](const Node& directory, Unsettled& unsettled) {
    if (const Status s = link_file(caller, *file, directory, name); s != Status::ok) return s;
    // The link count is an attribute of the file, which must be written as well.
    if (!commits_in_order_) unsettled = {std::move(file->fd), file->stat.attributes.type};
    return Status::ok;
  });
  result.file = file->stat.attributes;
  return result;
}

}  // namespace rpcrdma::nfsd
