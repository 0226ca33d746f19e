// SPDX-License-Identifier: BSD-3-Clause
#include "privileges.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace rpcrdma::ipoib {
namespace {

constexpr unsigned kNobody = 65534;

error_code last_error() noexcept { return {errno, boost::system::system_category()}; }

/// Drops all capabilities except those in `kept`. A capability in `kept` becomes effective if the process has it in its
/// permitted set. Otherwise the process stays without it.
error_code restrict_to(std::initializer_list<int> kept) noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, now) != 0) return last_error();
  std::uint32_t masks[_LINUX_CAPABILITY_U32S_3] = {};
  for (const int capability : kept) masks[CAP_TO_INDEX(capability)] |= CAP_TO_MASK(capability);
  for (std::size_t i = 0; i < std::size(now); ++i) {
    now[i].permitted &= masks[i];
    now[i].effective = now[i].permitted;
    now[i].inheritable = 0;
  }
  return ::syscall(SYS_capset, &header, now) == 0 ? error_code() : last_error();
}

}  // namespace

error_code keep_network_privilege() noexcept {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return last_error();
  // drop_privileges() needs CAP_SETUID and CAP_SETGID to change the user and group ids.
  return restrict_to({CAP_NET_ADMIN, CAP_SETUID, CAP_SETGID});
}

error_code drop_privileges() noexcept {
  if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
                           ::setresuid(kNobody, kNobody, kNobody) != 0))
    return last_error();
  return restrict_to({});
}

}  // namespace rpcrdma::ipoib
