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
  const auto stat = stat_at(directory.fd.get(), name, 0);
  if (!stat && stat.error() != Status::notsupp) return std::nullopt;
  // Returns no open descriptor for an object that loses its last name, because a network file system could not remove a
  // file that is open.
  if (stat && (is_directory(*stat) || stat->attributes.links < 2)) return Victim{{}, *stat};
  auto victim = before_move(directory, name);
  if (victim && (is_directory(victim->stat) || victim->stat.attributes.links < 2)) victim->fd = {};
  return victim;
}

std::optional<PosixFileSystem::Victim> PosixFileSystem::before_move(const Node& directory,
                                                                    std::string_view name) const {
  auto fd = open_component(directory.fd.get(), name);
  if (!fd) return std::nullopt;
  const auto stat = stat_fd(fd->get());
  if (!stat) return std::nullopt;
  return Victim{std::move(*fd), *stat};
}

ChangeResult PosixFileSystem::unlink(const Caller& caller, const NodeKey& key, std::string_view name, int flags) {
  ChangeResult result;
  result.status = in_directory(caller, key, result.wcc, [&](const Node& directory, Unsettled&) {
    const Status bad = (flags & AT_REMOVEDIR) != 0 ? check_rmdir_name(name) : check_old_name(name);
    if (bad != Status::ok) return bad;
    std::optional<Victim> victim;
    const std::string text(name);
    // The look-up in before_unlink() also runs with the caller's permissions. They suffice whenever the removal is
    // permitted, because removing a name requires the permission to search the directory.
    const int error = become_caller(caller, [&] {
      victim = before_unlink(directory, name);
      return ::unlinkat(directory.fd.get(), text.c_str(), flags);
    });
    prepare_to_remember();
    if (error == 0 && victim) forget(directory, name, *victim);
    return status_of(error);
  });
  return result;
}

void PosixFileSystem::doubt(const Node& directory, std::string_view name) {
  if (const KeptNode* const kept = directory.fd.kept(); kept != nullptr) kept_.doubt(PathBelow(*kept, name).view());
}

/// Forgets a name that has been removed. If the object has no name left, also forgets the object. `victim` is the
/// object as it was before the removal. Other names of the object may have been removed since then. Therefore, if
/// `victim` has a descriptor, the function reads the number of names again.
void PosixFileSystem::forget(const Node& directory, std::string_view name, const Victim& victim) {
  const NodeStat& before = victim.stat;
  if (victim.fd) {
    const auto now = stat_fd(victim.fd.get());
    if (now && now->attributes.links != 0) {
      doubt(directory, name);
      return locator_->unnamed(before, directory.stat, name);
    }
  }
  const ObjectId id = id_of(before);
  descriptors_.drop(id);
  kept_.drop(id);
  write_backs_.unnamed(id);
  locator_->removed(before);
}

ChangeResult PosixFileSystem::remove(const Caller& caller, const NodeKey& directory, std::string_view name) {
  return unlink(caller, directory, name, 0);
}

ChangeResult PosixFileSystem::remove_directory(const Caller& caller, const NodeKey& directory, std::string_view name) {
  return unlink(caller, directory, name, AT_REMOVEDIR);
}

Status PosixFileSystem::move(const Caller& caller, const Node& source, std::string_view from, const Node& target,
                             std::string_view to) {
  if (const Status s = check_old_name(from); s != Status::ok) return s;
  if (const Status s = check_old_name(to); s != Status::ok) return s;
  std::optional<Victim> replaced;
  std::optional<Victim> moved;
  const std::string from_text(from);
  const std::string to_text(to);
  // The look-ups of both names also run with the caller's permissions, which saves a change of identity. They suffice
  // whenever the rename is permitted, because a rename requires the permission to search both directories.
  const int error = become_caller(caller, [&] {
    replaced = before_unlink(target, to);
    if (locator_->remembers())
      moved = before_move(source, from);
    else if (replaced)
      moved = before_unlink(source, from);
    return ::renameat(source.fd.get(), from_text.c_str(), target.fd.get(), to_text.c_str());
  });
  prepare_to_remember();
  if (error != 0) return status_of(error);
  doubt(source, from);
  // If both names refer to the same object, renameat() succeeds but changes nothing. There is then nothing to record.
  if (moved && replaced && same_object(moved->stat, replaced->stat)) return Status::ok;
  if (replaced) forget(target, to, *replaced);
  if (!moved || !locator_->remembers()) return Status::ok;
  const auto now = stat_fd(moved->fd.get());
  if (!now) return Status::ok;
  locator_->changed(moved->stat, *now);
  locator_->unnamed(*now, source.stat, from);
  locator_->named(*now, target.stat, to);
  return Status::ok;
}

/// To be called after an object has been moved to another directory, `target`, with the new name `name`. If the object
/// is a directory, returns it for settle(), because its ".." has changed and must be written to the disk too. Returns
/// no object if the moved one is not a directory or cannot be opened, or if the file system commits changes in order.
PosixFileSystem::Unsettled PosixFileSystem::moved_directory(const Node& target, std::string_view name) const {
  if (commits_in_order_) return {};
  act_as_server();
  auto fd = open_component(target.fd.get(), name);
  if (!fd) return {};
  const auto stat = stat_fd(fd->get());
  return stat && is_directory(*stat) ? Unsettled{std::move(*fd), FileType::directory} : Unsettled{};
}

RenameResult PosixFileSystem::rename(const Caller& caller, const NodeKey& from_key, std::string_view from,
                                     const NodeKey& to_key, std::string_view to) {
  std::optional<LockBoth> lock(std::in_place, lock_of(from_key), lock_of(to_key));
  const auto source = open_directory(from_key);
  if (!source) return {source.error(), {}, {}};
  const auto other = from_key == to_key ? StatusOr<Node>(Node{}) : open_directory(to_key);
  if (!other) return {other.error(), {}, {}};
  const Node& target = from_key == to_key ? *source : *other;
  const bool one_directory = same_object(source->stat, target.stat);
  RenameResult result;
  Unsettled unsettled;
  result.status = move(caller, *source, from, target, to);
  const bool moved = result.status == Status::ok;
  if (moved && !one_directory) unsettled = moved_directory(target, to);
  result.from = wcc_after(*source, moved);
  result.to = one_directory ? result.from : wcc_after(target, moved);
  lock.reset();
  if (!moved) return result;
  // Writes the new name to the disk first: in the other order, a crash between the two writes could lose both names.
  result.status = settle(caller, target, unsettled);
  const bool both = one_directory || commits_in_order_;
  if (result.status == Status::ok && !both) result.status = settle(caller, *source, {});
  return result;
}

Status PosixFileSystem::link_file(const Caller& caller, Node& file, const Node& directory,
                                  std::string_view name) const {
  if (const Status s = check_new_name(name); s != Status::ok) return s;
  if (is_directory(file.stat)) return Status::isdir;
  const ProcPath path(file.fd.get());
  const std::string text(name);
  const int error = as_caller(
      caller, [&] { return ::linkat(path.folder, path.text, directory.fd.get(), text.c_str(), AT_SYMLINK_FOLLOW); });
  const NodeStat before = file.stat;
  if (const Status s = refresh(file); s == Status::ok) locator_->changed(before, file.stat);
  if (error != 0) return status_of(error);
  touch_inode(file.fd.get(), file.stat);
  locator_->named(file.stat, directory.stat, name);
  return Status::ok;
}

LinkResult PosixFileSystem::link(const Caller& caller, const NodeKey& node, const NodeKey& key, std::string_view name) {
  act_as_server();
  auto file = open_node(node);
  if (!file) return {file.error(), {}, {}};
  LinkResult result;
  result.status = in_directory(caller, key, result.directory, [&](const Node& directory, Unsettled& unsettled) {
    if (const Status s = link_file(caller, *file, directory, name); s != Status::ok) return s;
    // The new name changes the link count of the file. Unless the file system commits changes in order, the file must
    // therefore be synchronized as well as the directory.
    if (!commits_in_order_) unsettled = {std::move(file->fd), file->stat.attributes.type};
    return Status::ok;
  });
  result.file = file->stat.attributes;
  return result;
}

}  // namespace rpcrdma::nfsd
