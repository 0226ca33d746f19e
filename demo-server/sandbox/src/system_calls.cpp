// SPDX-License-Identifier: BSD-3-Clause
// A filter that permits the system calls of the server, the C library, LMDB and rdma-core. Any other call fails with
// ENOSYS, as on an older kernel: the C library then uses an older call (clone() instead of clone3()), and an unexpected
// call does not end the server. In mode `log`, other calls are only logged.
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "parts.hpp"

namespace rpcrdma::nfsd {
namespace {

// The names of the system calls that are permitted with any arguments, separated by spaces. The filter does not
// restrict the calls on files further, because the kernel checks the rights of the calling thread.
constexpr std::string_view kFiles =
    "access chdir chmod close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 "
    "fadvise64_64 fallocate fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync "
    "fgetxattr flock fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getcwd "
    "getdents getdents64 getxattr lgetxattr link linkat _llseek lseek lstat lstat64 memfd_create mkdir "
    "mkdirat mknod mknodat name_to_handle_at newfstatat open openat openat2 pipe2 pread64 preadv preadv2 "
    "pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename renameat renameat2 rmdir "
    "splice stat stat64 statfs statfs64 statx symlink symlinkat sync_file_range sync_file_range2 syncfs "
    "truncate truncate64 umask unlink unlinkat utime utimensat utimensat_time64 utimes write writev";

constexpr std::string_view kNetwork =
    "accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait "
    "eventfd2 getpeername getsockname getsockopt listen _newselect poll ppoll ppoll_time64 pselect6 "
    "pselect6_time64 recv recvfrom recvmmsg recvmsg select send sendmmsg sendmsg sendto setsockopt shutdown";

/// Memory, threads, time, signals, and the identity of the thread.
constexpr std::string_view kProcess =
    "brk capget capset clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep "
    "clock_nanosleep_time64 exit exit_group futex futex_requeue futex_time64 futex_wait futex_waitv "
    "futex_wake get_robust_list getcpu getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups "
    "getgroups32 getpid getrandom getresgid getresuid getrlimit getrusage gettid gettimeofday getuid "
    "getuid32 madvise membarrier mincore mlock mlock2 mremap mseal msync munlock munmap nanosleep "
    "restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend "
    "rt_sigtimedwait rt_sigtimedwait_time64 sched_getaffinity sched_getparam sched_getscheduler sched_yield "
    "set_robust_list set_tid_address setfsgid setfsgid32 setfsuid setfsuid32 setgroups setgroups32 "
    "sigaltstack sigreturn sysinfo time timerfd_create timerfd_gettime timerfd_settime timerfd_settime64 "
    "ugetrlimit uname";

constexpr int kFamilies[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
/// Permitted prctl() options: timer slack, names of threads and of memory.
constexpr int kProcessSettings[] = {PR_GET_TIMERSLACK, PR_SET_TIMERSLACK, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA};

/// Permitted ioctl() commands: all commands of two types (sockets, RDMA devices), and single commands (descriptors,
/// sockets, terminals).
constexpr std::uint64_t kTypeMask = 0xff00;
constexpr std::uint64_t kSockets = 0x8900;
constexpr std::uint64_t kRdma = 0x1b00;
constexpr std::uint64_t kCommands[] = {FIONBIO, FIONREAD, FIOCLEX, SIOCOUTQ, TCGETS, TIOCGWINSZ};

#ifdef __s390x__
constexpr unsigned kCloneFlags = 1;
#else
constexpr unsigned kCloneFlags = 0;
#endif

class Filter {
 public:
  explicit Filter(SandboxMode mode)
      : refuse_(mode == SandboxMode::log ? SCMP_ACT_LOG : SCMP_ACT_ERRNO(ENOSYS)), context_(seccomp_init(refuse_)) {
    if (context_ == nullptr) {
      failed_ = ENOMEM;
      return;
    }
    // Refuses calls of another ABI, such as those of 32-bit programs; without this setting they would end the process.
    note(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, refuse_));
    note(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // binary search
    // Disables the mitigation of speculative store bypass, which slows down memory accesses on kernels before 5.16. The
    // server does not need it, because it runs no untrusted code.
    note(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_SSB, 1));
  }

  /// Allows the system calls in `names`, which are separated by single spaces. Ignores names that this version of
  /// libseccomp does not know, and system calls that do not exist on this processor's architecture.
  void allow(std::string_view names) {
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(' '), names.size());
      const int call = seccomp_syscall_resolve_name(std::string(names.substr(0, end)).c_str());
      if (call != __NR_SCMP_ERROR) allow(call, {});
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  /// Allows `call` if all `conditions` hold. Rules of the same `call` are alternatives.
  void allow(int call, std::initializer_list<scmp_arg_cmp> conditions) {
    if (failed_ == 0)
      note(seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, static_cast<unsigned>(conditions.size()),
                                  std::data(conditions)));
  }
  error_code load() {
    if (failed_ == 0) note(seccomp_load(context_.get()));
    return failed_ == 0 ? error_code() : error_of(failed_);
  }

 private:
  struct Release {
    void operator()(void* context) const noexcept { seccomp_release(context); }
  };

  void note(int result) noexcept {
    if (result < 0 && failed_ == 0) failed_ = -result;
  }

  std::uint32_t refuse_;
  std::unique_ptr<void, Release> context_;
  int failed_ = 0;
};

constexpr scmp_arg_cmp equal(unsigned argument, std::uint64_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }
constexpr scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

/// Permits calls with certain arguments only.
void allow_some(Filter& filter) {
  // Permits new threads, but no new processes.
  filter.allow(SCMP_SYS(clone), {masked(kCloneFlags, CLONE_THREAD, CLONE_THREAD)});
  // Permits signals of this process to itself, such as those of abort().
  const auto itself = static_cast<std::uint64_t>(::getpid());
  for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_tgsigqueueinfo)})
    filter.allow(call, {equal(0, itself)});
  // Permits no memory that is both writable and executable, or that becomes executable later. The dynamic linker needs
  // neither.
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mmap2)}) {
    filter.allow(call, {masked(2, PROT_EXEC, 0)});
    filter.allow(call, {masked(2, PROT_WRITE, 0)});
  }
  filter.allow(SCMP_SYS(mprotect), {masked(2, PROT_EXEC, 0)});
  for (const int family : kFamilies) {
    filter.allow(SCMP_SYS(socket), {equal(0, static_cast<std::uint64_t>(family))});
    filter.allow(SCMP_SYS(socketpair), {equal(0, static_cast<std::uint64_t>(family))});
  }
  for (const int setting : kProcessSettings)
    filter.allow(SCMP_SYS(prctl), {equal(0, static_cast<std::uint64_t>(setting))});
  // Permits reading the limits of this process, but not setting them.
  filter.allow(SCMP_SYS(prlimit64), {equal(0, 0), equal(2, 0)});
  filter.allow(SCMP_SYS(prlimit64), {equal(0, itself), equal(2, 0)});
  for (const std::uint64_t type : {kSockets, kRdma}) filter.allow(SCMP_SYS(ioctl), {masked(1, kTypeMask, type)});
  for (const std::uint64_t command : kCommands) filter.allow(SCMP_SYS(ioctl), {equal(1, command)});
}

}  // namespace

error_code filter_system_calls(SandboxMode mode) noexcept {
  try {
    Filter filter(mode);
    filter.allow(kFiles);
    filter.allow(kNetwork);
    filter.allow(kProcess);
    // Mode `strict` forbids open_by_handle_at(), because Landlock cannot confine it: Landlock decides by the path of a
    // file, and the kernel may know no path of a file that is opened by its handle. Without this call, the server finds
    // files by the directories and names that it remembers (make_place_locator()).
    if (mode != SandboxMode::strict) filter.allow(SCMP_SYS(open_by_handle_at), {});
    allow_some(filter);
    return filter.load();
  } catch (const std::bad_alloc&) {
    return error_of(ENOMEM);
  }
}

}  // namespace rpcrdma::nfsd
