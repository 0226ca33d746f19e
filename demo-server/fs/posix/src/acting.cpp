// SPDX-License-Identifier: BSD-3-Clause
#include "acting.hpp"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "rpcrdma/nfsd/posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kServer = 0;  // only root can act as other users

/// The identity of the thread, kept to omit system calls that would change nothing.
struct ThreadIdentity {
  bool keeps = false;  // whether the thread may keep a caller's identity after a call
  std::uint32_t uid = kServer;
  std::optional<bool> overrides;  // whether the thread overrides quotas
  bool known = false;
  std::uint32_t gid = 0;
  boost::container::small_vector<std::uint32_t, 16> groups;
};
thread_local ThreadIdentity thread_identity;

using Capabilities = __user_cap_data_struct[_LINUX_CAPABILITY_U32S_3];

bool get_capabilities(Capabilities& out) noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, out) == 0;
}

/// Sets or clears CAP_SYS_RESOURCE, which lets a thread exceed quotas and use the space reserved for root: only calls
/// of root may do so. A change of the uid does not change this capability, unlike those over files. Setting it has no
/// effect unless the server is permitted to have it.
bool override_quotas(bool wanted) noexcept {
  ThreadIdentity& thread = thread_identity;
  if (thread.overrides == wanted) return true;
  Capabilities now{};
  if (!get_capabilities(now)) return false;
  auto& word = now[CAP_TO_INDEX(CAP_SYS_RESOURCE)];
  constexpr std::uint32_t kRight = CAP_TO_MASK(CAP_SYS_RESOURCE);
  word.effective = wanted ? word.effective | (word.permitted & kRight) : word.effective & ~kRight;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capset, &header, now) != 0) return false;
  thread.overrides = wanted;
  return true;
}

/// setfsuid and setfsgid return the previous id and no error: a second call shows whether the first one took effect.
bool set_uid(std::uint32_t uid) noexcept {
  ThreadIdentity& thread = thread_identity;
  if (thread.uid == uid) return true;
  ::setfsuid(uid);
  thread.uid = static_cast<std::uint32_t>(::setfsuid(uid));
  return thread.uid == uid;
}

bool set_gid(std::uint32_t gid) noexcept {
  ::setfsgid(gid);
  return static_cast<std::uint32_t>(::setfsgid(gid)) == gid;
}

bool set_groups(const Identity& who) noexcept {
  ThreadIdentity& thread = thread_identity;
  if (!thread.known || thread.gid != who.gid) {
    thread.known = false;
    if (!set_gid(who.gid)) return false;
    thread.gid = who.gid;
  } else if (thread.groups == who.groups) {
    return true;
  }
  // Makes the raw system call, because the C library's setgroups() would change the groups of all threads.
  if (::syscall(SYS_setgroups, who.groups.size(), who.groups.data()) != 0) {
    thread.known = false;
    return false;
  }
  thread.groups = who.groups;
  thread.known = true;
  return true;
}

bool lost_file_capabilities() noexcept {
  Capabilities now{};
  if (!get_capabilities(now)) return false;
  constexpr int kOverFiles[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_MKNOD};
  return std::ranges::none_of(kOverFiles, [&](int capability) {
    return (now[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
  });
}

}  // namespace

bool can_act_as_others() {
  if (::geteuid() != kServer) return false;
  bool works = false;
  // Acts as another user on a new thread, so that the identity of this thread does not change.
  std::thread([&works] {
    Identity other;
    other.groups.push_back(Identity::kNobody);
    const ActingAs acting(&other);
    works = static_cast<bool>(acting) && lost_file_capabilities();
  }).join();
  return works;
}

bool act_as(const Identity* who) noexcept {
  if (who == nullptr) return true;
  if (override_quotas(who->uid == kServer) && set_groups(*who) && set_uid(who->uid)) return true;
  act_as_server();
  return false;
}

void keep_identities() noexcept { thread_identity.keeps = true; }

void act_as_server_in_time() noexcept {
  if (!thread_identity.keeps) act_as_server();
}

void act_as_server() noexcept {
  ThreadIdentity& thread = thread_identity;
  if (thread.uid == kServer) return;
  // The kernel always permits this call. It restores the rights over files.
  ::setfsuid(kServer);
  thread.uid = kServer;
}

}  // namespace rpcrdma::nfsd
