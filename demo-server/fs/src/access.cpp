// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

using namespace access;

std::uint32_t rights_of(const Attributes& object, const Identity& caller) noexcept {
  if (caller.uid == 0) {
    const bool executable = object.type == FileType::directory || (object.mode & 0111) != 0;
    return kMayRead | kMayWrite | (executable ? kMayExecute : 0);
  }
  if (caller.uid == object.uid) return object.mode >> 6 & 7;
  if (caller.in_group(object.gid)) return object.mode >> 3 & 7;
  return object.mode & 7;
}

std::uint32_t granted_access(FileType type, std::uint32_t rights, std::uint32_t wanted) noexcept {
  const bool directory = type == FileType::directory;
  std::uint32_t granted = 0;
  if ((rights & kMayRead) != 0) granted |= kRead;
  if ((rights & kMayExecute) != 0) granted |= directory ? kLookup : kExecute;
  // A change of names also requires the right to search. Whether a file may be removed does not depend on its own mode.
  if (directory && (rights & kMayWrite) != 0 && (rights & kMayExecute) != 0) granted |= kModify | kExtend | kDelete;
  if (!directory && (rights & kMayWrite) != 0) granted |= kModify | kExtend;
  return granted & wanted;
}

std::uint32_t granted_access(const Attributes& object, const Identity& caller, std::uint32_t wanted) noexcept {
  return granted_access(object.type, rights_of(object, caller), wanted);
}

}  // namespace rpcrdma::nfsd
