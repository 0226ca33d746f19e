// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

/// Whether the directory `number` is `ancestor` or lies below it.
bool MemoryFileSystem::is_below(std::uint64_t number, std::uint64_t ancestor) {
  while (number != ancestor && number != kRoot) number = at(number).directory.parent;
  return number == ancestor;
}

/// RFC 1813 section 3.3.14: a target must be of the same kind, and a directory empty.
Status MemoryFileSystem::check_replace(const MemoryNode& moved, const MemoryNode& target) const {
  if (moved.is_directory() != target.is_directory()) return target.is_directory() ? Status::isdir : Status::notdir;
  return target.is_directory() && !target.directory.empty() ? Status::notempty : Status::ok;
}

/// A directory that gets another parent is changed itself: its ".." is.
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
  text_ = text_ - from_name.size() + to_name.size();
  if (moved.is_directory()) {
    --from.fixed.links;
    ++to.fixed.links;
    moved.directory.parent = to.fixed.fileid;
  }
  touch_metadata(moved);
  touch(from);
  if (&from != &to) touch(to);
}

RenameResult MemoryFileSystem::rename(const Caller& caller, const NodeKey& from_key, std::string_view from_name,
                                      const NodeKey& to_key, std::string_view to_name) {
  const std::lock_guard lock(mutex_);
  MemoryNode* from = nullptr;
  MemoryNode* to = nullptr;
  RenameResult result;
  result.status = find_directory(from_key, from);
  if (result.status == Status::ok) result.status = find_directory(to_key, to);
  if (result.status != Status::ok) return result;
  result.from.before = wcc_of(from->attributes());
  result.to.before = wcc_of(to->attributes());
  result.status = check_old_name(from_name);
  if (result.status == Status::ok) result.status = check_old_name(to_name);
  const auto number = from->directory.find(from_name);
  const auto old = to->directory.find(to_name);
  if (result.status == Status::ok) result.status = check(caller, *from, access::kMayExecute);
  if (result.status == Status::ok) result.status = check(caller, *to, access::kMayExecute);
  if (result.status == Status::ok && !number) result.status = Status::noent;
  // Two names of one object: nothing is to be done.
  if (result.status == Status::ok && number != old) {
    MemoryNode& moved = at(*number);
    if (moved.is_directory() && is_below(to->fixed.fileid, *number)) result.status = Status::inval;
    if (result.status == Status::ok) result.status = check_move(caller, *from, *to, moved, old);
    if (result.status == Status::ok && old) result.status = check_replace(moved, at(*old));
    if (result.status == Status::ok) move(*from, from_name, *to, to_name, moved);
  }
  result.from.after = from->attributes();
  result.to.after = to->attributes();
  return result;
}

}  // namespace rpcrdma::nfsd
