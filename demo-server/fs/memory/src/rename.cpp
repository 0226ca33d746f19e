// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

/// True if the directory `number` is `ancestor` or below it.
bool MemoryFileSystem::is_below(std::uint64_t number, std::uint64_t ancestor) {
  while (number != ancestor && number != kRoot) number = at(number).directory.parent;
  return number == ancestor;
}

/// RFC 1813 section 3.3.14: a directory can replace only an empty directory; other objects cannot replace a directory.
Status MemoryFileSystem::check_replace(const MemoryNode& moved, const MemoryNode& target) const {
  if (moved.is_directory() != target.is_directory()) return target.is_directory() ? Status::isdir : Status::notdir;
  return target.is_directory() && !target.directory.empty() ? Status::notempty : Status::ok;
}

/// Checks that `caller` may move `moved` from the directory `from` to the directory `to`, where it replaces the object
/// with the number `old`, if there is one. To move a directory to another parent, the caller also needs the right to
/// write to the directory itself, because its ".." changes.
Status MemoryFileSystem::check_move(const Caller& caller, const MemoryNode& from, const MemoryNode& to,
                                    const MemoryNode& moved, std::optional<std::uint64_t> old) {
  if (const Status s = check_removal(caller, from, moved); s != Status::ok) return s;
  const Status s = old ? check_removal(caller, to, at(*old)) : check_names(caller, to);
  if (s != Status::ok || !moved.is_directory() || &from == &to) return s;
  return check(caller, moved, access::kMayWrite);
}

void MemoryFileSystem::move(MemoryNode& from, std::string_view from_name, MemoryNode& to, std::string_view to_name,
                            MemoryNode& moved) {
  if (const auto old = to.directory.find(to_name)) unlink(to, to_name, at(*old));
  from.directory.erase(from_name);
  to.directory.add(to_name, moved.fixed.fileid);
  metadata_ = metadata_ - from_name.size() + to_name.size();
  if (moved.is_directory()) {
    --from.fixed.links;
    ++to.fixed.links;
    moved.directory.parent = to.fixed.fileid;
  }
  touch_metadata(moved);
  touch(from);
  if (&from != &to) touch(to);
}

Status MemoryFileSystem::rename_in(const Caller& caller, MemoryNode& from, std::string_view from_name, MemoryNode& to,
                                   std::string_view to_name) {
  if (const Status s = check_old_name(from_name); s != Status::ok) return s;
  if (const Status s = check_old_name(to_name); s != Status::ok) return s;
  const auto moved = named(caller, from, from_name);
  if (!moved && moved.error() != Status::noent) return moved.error();
  if (const Status s = check(caller, to, access::kMayExecute); s != Status::ok) return s;
  if (!moved) return moved.error();
  const auto old = to.directory.find(to_name);
  // RFC 1813 section 3.3.14: if both names refer to the same object, RENAME changes nothing.
  if (old == (*moved)->fixed.fileid) return Status::ok;
  if ((*moved)->is_directory() && is_below(to.fixed.fileid, (*moved)->fixed.fileid)) return Status::inval;
  if (const Status s = check_move(caller, from, to, **moved, old); s != Status::ok) return s;
  if (old) {
    if (const Status s = check_replace(**moved, at(*old)); s != Status::ok) return s;
  } else if (to_name.size() > from_name.size() && check_room(to_name.size() - from_name.size()) != Status::ok) {
    return Status::nospc;
  }
  move(from, from_name, to, to_name, **moved);
  return Status::ok;
}

RenameResult MemoryFileSystem::rename(const Caller& caller, const NodeKey& from_key, std::string_view from_name,
                                      const NodeKey& to_key, std::string_view to_name) {
  const std::lock_guard lock(mutex_);
  RenameResult result;
  const auto to = find_directory(to_key);
  result.status = in_directory(from_key, result.from, [&](MemoryNode& from) {
    if (!to) return to.error();
    result.to.before = wcc_of((*to)->attributes());
    const Status status = rename_in(caller, from, from_name, **to, to_name);
    result.to.after = (*to)->attributes();
    return status;
  });
  return result;
}

}  // namespace rpcrdma::nfsd
