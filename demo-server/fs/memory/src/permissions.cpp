// SPDX-License-Identifier: BSD-3-Clause
// Permissions, by the rules that Linux applies to files on a disk. check_data() permits more, as NFS servers do.
#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

bool owns(const Caller& caller, const MemoryNode& node) noexcept {
  return caller.uid == 0 || caller.uid == node.fixed.uid;
}

}  // namespace

Status MemoryFileSystem::check(const Caller& caller, const MemoryNode& node, std::uint32_t bits) noexcept {
  return (rights_of(node.fixed, caller) & bits) == bits ? Status::ok : Status::acces;
}

Status MemoryFileSystem::check_names(const Caller& caller, const MemoryNode& directory) noexcept {
  return check(caller, directory, access::kMayWrite | access::kMayExecute);
}

Status MemoryFileSystem::check_removal(const Caller& caller, const MemoryNode& directory,
                                       const MemoryNode& node) noexcept {
  if (const Status s = check_names(caller, directory); s != Status::ok) return s;
  const bool sticky = (directory.fixed.mode & mode::kSticky) != 0;
  return sticky && !owns(caller, directory) && !owns(caller, node) ? Status::perm : Status::ok;
}

/// Checks whether the caller may read or write the data of a file, as `bit` says. Permits more than the mode does (RFC
/// 1813 section 4.4). The owner may read and write regardless of the mode, which may have changed since the client
/// opened the file. A caller that may execute a file may read it, because a client reads a program to execute it.
Status MemoryFileSystem::check_data(const Caller& caller, const MemoryNode& node, std::uint32_t bit) noexcept {
  if (owns(caller, node) || check(caller, node, bit) == Status::ok) return Status::ok;
  return bit == access::kMayRead ? check(caller, node, access::kMayExecute) : Status::acces;
}

Status MemoryFileSystem::check_rights(const Caller& caller, const MemoryNode& node,
                                      const SetAttributes& changes) noexcept {
  if (caller.uid == 0) return Status::ok;
  const bool owner = owns(caller, node);
  const bool gives = changes.uid && (!owner || *changes.uid != node.fixed.uid);
  const bool regroups = changes.gid && (!owner || (*changes.gid != node.fixed.gid && !caller.in_group(*changes.gid)));
  if (gives || regroups || (changes.mode && !owner)) return Status::perm;
  const auto sets = [&](SetTime::How how) { return changes.atime.how == how || changes.mtime.how == how; };
  if (sets(SetTime::How::client) && !owner) return Status::perm;
  return sets(SetTime::How::server) && !owner ? check(caller, node, access::kMayWrite) : Status::ok;
}

/// Clears the set-group-id bit unless the caller is root or in the group.
void MemoryFileSystem::strip_group(const Caller& caller, Attributes& a) noexcept {
  if (caller.uid != 0 && !caller.in_group(a.gid)) a.mode &= ~mode::kSetGid;
}

/// Clears the set-user-id and set-group-id bits of a file whose contents, owner or group change, so that the file no
/// longer runs with the rights of its owner or group. If the group has no right to execute the file, the set-group-id
/// bit does not concern execution, but means mandatory locking. In this case the bit stays if root or a member of the
/// group makes the change.
void MemoryFileSystem::strip_set_ids(const Caller& caller, Attributes& a) noexcept {
  a.mode &= ~mode::kSetUid;
  if ((a.mode & mode::kGroupExecute) != 0)
    a.mode &= ~mode::kSetGid;
  else
    strip_group(caller, a);
}

void MemoryFileSystem::strip_after_write(const Caller& caller, MemoryNode& node) noexcept {
  if (caller.uid != 0 && node.fixed.type == FileType::regular) strip_set_ids(caller, node.fixed);
}

}  // namespace rpcrdma::nfsd
