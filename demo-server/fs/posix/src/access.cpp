// SPDX-License-Identifier: BSD-3-Clause
// ACCESS as the kernel grants it to the caller, with access control lists, capabilities and read-only mounts. On a
// mount with noexec, the mode of a regular file decides whether the caller may execute it.
#include "rpcrdma/nfsd/fs/access.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <cerrno>

#include "posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kAllRights = access::kMayRead | access::kMayWrite | access::kMayExecute;

/// Uses the system call, because faccessat(3) may check the real uid's rights or guess from the mode.
bool may(int fd, int right) noexcept {
  return ::syscall(SYS_faccessat2, fd, "", right, AT_EMPTY_PATH | AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

bool programs_may_run(int root) noexcept {
  struct statvfs s {};
  return ::fstatvfs(root, &s) != 0 || (s.f_flag & ST_NOEXEC) == 0;
}

}  // namespace

StatusOr<std::uint32_t> PosixFileSystem::rights(const Caller& caller, int fd, const NodeStat& stat) const {
  const ActingAs acting(user(caller));
  if (!acting) return status_of(identity_error());
  const std::uint32_t granted = (may(fd, R_OK) ? access::kMayRead : 0) | (may(fd, W_OK) ? access::kMayWrite : 0) |
                                (may(fd, X_OK) ? access::kMayExecute : 0);
  // If the export is on a mount with noexec, the kernel denies the execution of its regular files. This option must not
  // affect clients: the options of a client's own mount decide whether programs may run there. The mode of the file
  // therefore decides whether the caller may execute it.
  if (stat.attributes.type == FileType::regular && (granted & access::kMayExecute) == 0 &&
      !programs_may_run(root_.get()))
    return granted | (rights_of(stat.attributes, caller) & access::kMayExecute);
  return granted;
}

AccessResult PosixFileSystem::access(const Caller& caller, const NodeKey& key, std::uint32_t wanted) {
  act_as_server();
  const Time now = present_time();
  const auto node = open_node(key);
  if (!node) return {node.error(), {}, 0};
  const Attributes& attributes = node->stat.attributes;
  const auto granted = rights(caller, *node);
  if (!granted) return {granted.error(), attributes, 0};
  if (const KeptNode* const kept = node->fd.kept(); kept != nullptr)
    kept->rights.note(owner_of_descriptors(caller), attributes, now, kAllRights, *granted);
  return {Status::ok, attributes, granted_access(attributes.type, *granted, wanted)};
}

std::optional<AccessResult> PosixFileSystem::access_at_once(const Caller& caller, const NodeKey& key,
                                                            std::uint32_t wanted) {
  const KeptNodePtr node = kept_.find(key);
  const auto stat = node != nullptr ? kept_.look(*node) : std::nullopt;
  if (!stat) return std::nullopt;
  const Attributes& attributes = stat->attributes;
  const auto granted = node->rights.find(owner_of_descriptors(caller), attributes, kAllRights);
  if (!granted) return std::nullopt;
  return AccessResult{Status::ok, attributes, granted_access(attributes.type, *granted, wanted)};
}

}  // namespace rpcrdma::nfsd
