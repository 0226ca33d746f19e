// SPDX-License-Identifier: BSD-3-Clause
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>

#include "parts.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr int kKept[] = {
    CAP_SETUID,          CAP_SETGID,                          // act as the caller
    CAP_DAC_READ_SEARCH,                                      // open by handle
    CAP_DAC_OVERRIDE,    CAP_CHOWN,  CAP_FOWNER, CAP_FSETID,  // serve root on clients that an export trusts
    CAP_SYS_RESOURCE,                                         // exceed quotas for root
    CAP_IPC_LOCK,                                             // register memory with a device
};
constexpr std::uint16_t kFirstFreePort = 1024;

}  // namespace

error_code reduce_capabilities(const SandboxNeeds& needs) noexcept {
  std::uint32_t masks[_LINUX_CAPABILITY_U32S_3] = {};
  const auto keep = [&masks](int capability) { masks[CAP_TO_INDEX(capability)] |= CAP_TO_MASK(capability); };
  std::ranges::for_each(kKept, keep);
  if (needs.devices) keep(CAP_MKNOD);
#ifdef RPCRDMA_SANITIZED
  // The leak sanitizer stops all threads by ptrace(). After a process has changed its identity, the kernel permits that
  // only with this capability.
  keep(CAP_SYS_PTRACE);
#endif
  // The server needs this capability to bind a port below kFirstFreePort. It keeps the capability after the start,
  // because it binds its ports again when a lost device is back.
  if (std::ranges::any_of(needs.tcp_ports, [](auto port) { return port != 0 && port < kFirstFreePort; }))
    keep(CAP_NET_BIND_SERVICE);

  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, now) != 0) return error_of(errno);
  for (std::size_t i = 0; i < std::size(now); ++i) {
    now[i].permitted &= masks[i];
    now[i].effective &= masks[i];
    now[i].inheritable = 0;
  }
  return ::syscall(SYS_capset, &header, now) == 0 ? error_code() : error_of(errno);
}

}  // namespace rpcrdma::nfsd
