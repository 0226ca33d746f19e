// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kMayRead = 4;
constexpr std::uint32_t kMayWrite = 2;
constexpr std::uint32_t kMayExecute = 1;

/// The rwx triple that counts for the caller: owner, else group, else others.
std::uint32_t triple(const Attributes& object, const Caller& caller) noexcept {
  if (caller.uid == 0) {
    const bool executable = object.type == FileType::directory || (object.mode & 0111) != 0;
    return kMayRead | kMayWrite | (executable ? kMayExecute : 0);
  }
  if (caller.uid == object.uid) return object.mode >> 6 & 7;
  if (caller.in_group(object.gid)) return object.mode >> 3 & 7;
  return object.mode & 7;
}

}  // namespace

std::uint32_t granted_access(const Attributes& object, const Caller& caller, std::uint32_t wanted,
                             bool read_only) noexcept {
  const std::uint32_t may = triple(object, caller);
  const bool directory = object.type == FileType::directory;
  std::uint32_t granted = 0;
  if ((may & kMayRead) != 0) granted |= access::kRead;
  if ((may & kMayExecute) != 0) granted |= directory ? access::kLookup : access::kExecute;
  if ((may & kMayWrite) != 0 && !read_only) {
    granted |= access::kModify | access::kExtend;
    // Removing a name takes the right to search the directory too; a file's own bits say nothing of it.
    if (directory && (may & kMayExecute) != 0) granted |= access::kDelete;
  }
  return granted & wanted;
}

}  // namespace rpcrdma::nfsd
