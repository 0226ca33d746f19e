// SPDX-License-Identifier: BSD-3-Clause
// ACCESS, as the kernel answers it for the caller: access control lists, capabilities and read-only mounts count.
#include "rpcrdma/nfsd/fs/access.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <cerrno>

#include "posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

/// faccessat(3) of the C library may ask for the real uid's rights or guess from the mode.
bool may(int fd, int right) noexcept {
  return ::syscall(SYS_faccessat2, fd, "", right, AT_EMPTY_PATH | AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

bool programs_may_run(int root) noexcept {
  struct statvfs s {};
  return ::fstatvfs(root, &s) != 0 || (s.f_flag & ST_NOEXEC) == 0;
}

}  // namespace

Status PosixFileSystem::rights(const Caller& caller, int fd, const NodeStat& stat, std::uint32_t& out) const {
  const ActingAs acting(user(caller));
  if (!acting) return Status::acces;
  out = (may(fd, R_OK) ? access::kMayRead : 0) | (may(fd, W_OK) ? access::kMayWrite : 0) |
        (may(fd, X_OK) ? access::kMayExecute : 0);
  // Where programs run is the client's affair: its mount decides, not ours.
  if (stat.attributes.type == FileType::regular && (out & access::kMayExecute) == 0 && !programs_may_run(root_.get()))
    out |= rights_of(stat.attributes, caller) & access::kMayExecute;
  return Status::ok;
}

AccessResult PosixFileSystem::access(const Caller& caller, const NodeKey& node, std::uint32_t wanted) {
  AccessResult result;
  Fd fd;
  NodeStat stat;
  result.status = locator_->open(node, fd);
  if (result.status == Status::ok) result.status = stat_fd(fd.get(), stat);
  if (result.status != Status::ok) return result;
  result.attributes = stat.attributes;
  std::uint32_t rights_here = 0;
  result.status = rights(caller, fd.get(), stat, rights_here);
  result.granted = granted_access(stat.attributes.type, rights_here, wanted);
  return result;
}

}  // namespace rpcrdma::nfsd
