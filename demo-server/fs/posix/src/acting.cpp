// SPDX-License-Identifier: BSD-3-Clause
#include "acting.hpp"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <optional>
#include <thread>

#include "rpcrdma/nfsd/posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

/// The user id of a server that acts as other users: root, because only root can do so.
constexpr std::uint32_t kServer = 0;

/// The identity that the thread has last set in the kernel. The functions below compare it with the identity that they
/// are to set, so that they can omit system calls that would change nothing.
struct ThreadIdentity {
  bool keeps = false;    // whether the thread may keep a caller's identity after a call
  bool fixed = false;    // whether the thread must not change its identity
  bool changed = false;  // whether the thread has begun to change its identity
  std::uint32_t uid = kServer;
  std::optional<bool> overrides;  // the argument of the last successful override_quotas(); empty: none yet
  bool known = false;
  std::uint32_t gid = 0;
  boost::container::small_vector<std::uint32_t, 16> groups;
};
thread_local ThreadIdentity thread_identity;

/// Whether the server has all capabilities over files, except perhaps CAP_MKNOD. Set by can_act_as_others().
std::atomic<bool> all_rights{false};

using Capabilities = __user_cap_data_struct[_LINUX_CAPABILITY_U32S_3];

bool get_capabilities(Capabilities& out) noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, out) == 0;
}

/// Sets or clears CAP_SYS_RESOURCE of the calling thread. With this capability, a thread can exceed quotas and use the
/// space reserved for root. Only calls whose caller is root may do this. The thread must change the capability
/// explicitly: a change of the file system uid changes the capabilities over files, but not this one. Setting it has no
/// effect if the thread's permitted set does not contain it. Returns false if the kernel refuses.
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

/// setfsuid() and setfsgid() report no error; they return the id that was in effect before the call. Therefore this
/// function and set_gid() make each call twice: the result of the second one shows whether the first one took effect.
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

/// The capabilities over files that do not depend on groups, and then CAP_MKNOD, which the sandbox may have dropped.
constexpr int kOverFiles[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_MKNOD};
constexpr std::ptrdiff_t kBesideMknod = std::ssize(kOverFiles) - 1;

/// How many of the first `count` capabilities of kOverFiles the calling thread has; -1 if they are unknown.
std::ptrdiff_t capabilities_over_files(std::ptrdiff_t count) noexcept {
  Capabilities now{};
  if (!get_capabilities(now)) return -1;
  return std::count_if(kOverFiles, kOverFiles + count, [&](int capability) {
    return (now[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
  });
}

}  // namespace

bool can_act_as_others() {
  if (::geteuid() != kServer) return false;
  all_rights = capabilities_over_files(kBesideMknod) == kBesideMknod;
  bool works = false;
  // Acts as another user on a new thread, so that the identity of this thread does not change.
  std::thread([&works] {
    Identity other;
    other.groups.push_back(Identity::kNobody);
    const ActingAs acting(&other);
    works = static_cast<bool>(acting) && capabilities_over_files(std::ssize(kOverFiles)) == 0;
  }).join();
  return works;
}

bool is_server(const Identity& who) noexcept {
  static const gid_t gid = ::getegid();
  return all_rights.load(std::memory_order_relaxed) && who.uid == kServer && who.gid == gid;
}

bool act_as(const Identity* who) noexcept {
  if (who == nullptr) return true;
  ThreadIdentity& thread = thread_identity;
  if (!thread.changed && is_server(*who)) return true;
  if (thread.fixed) return false;
  thread.changed = true;
  if (override_quotas(who->uid == kServer) && set_groups(*who) && set_uid(who->uid)) return true;
  act_as_server();
  return false;
}

void keep_identities() noexcept { thread_identity.keeps = true; }

void keep_servers_identity() noexcept { thread_identity.fixed = true; }

int identity_error() noexcept { return thread_identity.fixed ? EAGAIN : EACCES; }

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
