// SPDX-License-Identifier: BSD-3-Clause
// The tests enter the sandbox in child processes, because a process cannot leave it.
#include "rpcrdma/nfsd/sandbox/sandbox.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

namespace rpcrdma::nfsd {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kFailedToEnter = 99;

/// Enters the sandbox in a child process that then exits with the result of `body`, or with kFailedToEnter. Returns the
/// child's wait status.
int status_of(SandboxMode mode, const SandboxNeeds& needs, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::_exit(enter_sandbox(mode, needs, Log()) ? body() : kFailedToEnter);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Like status_of(), but returns the exit code, or -1 if a signal ended the child.
int exit_code(SandboxMode mode, const SandboxNeeds& needs, const std::function<int()>& body) {
  const int status = status_of(mode, needs, body);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// 0 if the system call succeeded, else errno.
int error_of_call(long result) { return result == -1 ? errno : 0; }

long landlock_version() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1); }

/// The value of a line of /proc/self/status, or "" if there is no such line.
std::string own_status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return {};
}

std::uint64_t own_capabilities(const std::string& set) { return std::stoull("0" + own_status(set), nullptr, 16); }

std::uint64_t bit(int capability) { return std::uint64_t{1} << capability; }

class Sandbox : public testing::Test {
 protected:
  Sandbox() {
    std::string name = (fs::temp_directory_path() / "sandbox_test.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
    for (const char* inside : {"writable", "writable/sub", "readable", "outside"})
      fs::create_directory(folder_ / inside);
    for (const char* file : {"writable/file", "readable/file", "outside/file"}) std::ofstream(folder_ / file) << "text";
    needs_.tcp_ports = {0};
    needs_.writable = {folder_ / "writable", folder_ / "missing"};
    needs_.readable = {folder_ / "readable"};
  }
  ~Sandbox() override { fs::remove_all(folder_); }

  std::string path(const char* below) const { return (folder_ / below).string(); }
  int open_error(const char* below, int flags) const {
    return error_of_call(::open(path(below).c_str(), flags | O_CLOEXEC, 0600));
  }

  fs::path folder_;
  SandboxNeeds needs_;
};

class Filter : public Sandbox {
 protected:
  void SetUp() override {
    if (!filters_system_calls()) GTEST_SKIP() << "a build with a sanitizer filters no system calls";
  }
};

struct NamedCall {
  const char* name;
  long (*make)();
};

// System calls that the filter must permit. If the filter refused one of them, no other test would notice it on most
// machines. With these arguments most of the calls fail, but only the filter makes them fail with ENOSYS.
const NamedCall kPermitted[] = {
    {"unsent bytes of a socket", [] { return static_cast<long>(ioctl(-1, SIOCOUTQ, nullptr)); }},
    {"a device", [] { return static_cast<long>(ioctl(-1, _IOWR(0x1b, 1, std::uint64_t), nullptr)); }},
    {"isatty", [] { return static_cast<long>(ioctl(-1, TCGETS, nullptr)); }},
    {"netlink", [] { return syscall(SYS_socket, AF_NETLINK, SOCK_RAW, -1); }},
    {"socketpair", [] { return syscall(SYS_socketpair, AF_UNIX, -1, 0, nullptr); }},
    {"splice", [] { return syscall(SYS_splice, -1, nullptr, -1, nullptr, 1, 0); }},
    {"unread bytes of a pipe", [] { return static_cast<long>(ioctl(-1, FIONREAD, nullptr)); }},
    {"capset", [] { return syscall(SYS_capset, nullptr, nullptr); }},
    {"setgroups", [] { return syscall(SYS_setgroups, -1, nullptr); }},
    {"setfsuid", [] { return syscall(SYS_setfsuid, -1); }},
    {"setfsgid", [] { return syscall(SYS_setfsgid, -1); }},
    {"mknodat", [] { return syscall(SYS_mknodat, -1, "x", 0, 0); }},
    {"name_to_handle_at", [] { return syscall(SYS_name_to_handle_at, -1, "x", nullptr, nullptr, 0); }},
    {"open_by_handle_at", [] { return syscall(SYS_open_by_handle_at, -1, nullptr, 0); }},
    {"faccessat2", [] { return syscall(SYS_faccessat2, -1, "x", 0, 0); }},
    {"memfd_create", [] { return syscall(SYS_memfd_create, nullptr, 0); }},
    {"fallocate", [] { return syscall(SYS_fallocate, -1, 0, 0, 0); }},
    {"syncfs", [] { return syscall(SYS_syncfs, -1); }},
    {"flock", [] { return syscall(SYS_flock, -1, 0); }},
    {"mlock", [] { return syscall(SYS_mlock, nullptr, 0); }},
    {"getrlimit", [] { return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, nullptr); }},
    {"timer slack", [] { return syscall(SYS_prctl, PR_GET_TIMERSLACK); }},
    {"a signal to itself", [] { return syscall(SYS_tgkill, getpid(), gettid(), 0); }},
    {"code of a library",
     [] { return syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }},
};

// Calls that the filter must refuse with ENOSYS. With these arguments, a call that the filter fails to refuse would
// return another result and do no lasting harm.
const NamedCall kForbidden[] = {
    {"execve", [] { return syscall(SYS_execve, "/does/not/exist", nullptr, nullptr); }},
    {"execveat", [] { return syscall(SYS_execveat, -1, "/does/not/exist", nullptr, nullptr, 0); }},
    {"fork", [] { return syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }},
    {"clone3", [] { return syscall(SYS_clone3, nullptr, 0); }},
    {"ptrace", [] { return syscall(SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"process_vm_readv", [] { return syscall(SYS_process_vm_readv, getppid(), nullptr, 0, nullptr, 0, 0); }},
    {"kill", [] { return syscall(SYS_kill, getppid(), 0); }},
    {"pidfd_open", [] { return syscall(SYS_pidfd_open, getppid(), 0); }},
    {"packet socket", [] { return syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0); }},
    {"mount", [] { return syscall(SYS_mount, nullptr, "/does/not/exist", nullptr, MS_REMOUNT, nullptr); }},
    {"umount2", [] { return syscall(SYS_umount2, "/does/not/exist", 0); }},
    {"chroot", [] { return syscall(SYS_chroot, "/does/not/exist"); }},
    {"pivot_root", [] { return syscall(SYS_pivot_root, "/does/not/exist", "/does/not/exist"); }},
    {"unshare", [] { return syscall(SYS_unshare, 0); }},
    {"setns", [] { return syscall(SYS_setns, -1, 0); }},
    {"finit_module", [] { return syscall(SYS_finit_module, -1, "", 0); }},
    {"delete_module", [] { return syscall(SYS_delete_module, "", 0); }},
    {"bpf", [] { return syscall(SYS_bpf, -1, nullptr, 0); }},
    {"perf_event_open", [] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
    {"userfaultfd", [] { return syscall(SYS_userfaultfd, 0); }},
    {"keyctl", [] { return syscall(SYS_keyctl, -1, 0, 0, 0, 0); }},
    {"add_key", [] { return syscall(SYS_add_key, "", nullptr, nullptr, 0, 0); }},
    {"swapoff", [] { return syscall(SYS_swapoff, "/does/not/exist"); }},
    {"sethostname", [] { return syscall(SYS_sethostname, nullptr, -1); }},
    {"clock_settime", [] { return syscall(SYS_clock_settime, -1, nullptr); }},
    {"setuid", [] { return syscall(SYS_setresuid, -1, -1, -1); }},
    {"personality", [] { return syscall(SYS_personality, 0xffffffff); }},
    {"writable code",
     [] { return syscall(SYS_mmap, nullptr, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }},
    {"code out of data", [] { return syscall(SYS_mprotect, nullptr, 0, PROT_EXEC); }},
    {"a limit",
     [] {
       const rlimit none{0, 0};
       return syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr);
     }},
    {"terminal input", [] { return static_cast<long>(ioctl(-1, TIOCSTI, "x")); }},
};

TEST_F(Filter, RefusesCallsThatNoServerMakes) {
  for (const NamedCall& call : kForbidden)
    EXPECT_EQ(exit_code(SandboxMode::on, needs_, [&] { return error_of_call(call.make()); }), ENOSYS) << call.name;
}

TEST_F(Filter, PermitsWhatTheServerCalls) {
  const auto make_all = [](const auto& calls) {
    for (const NamedCall& call : calls) {
      if (error_of_call(call.make()) != ENOSYS) continue;
      static_cast<void>(::write(STDERR_FILENO, call.name, std::strlen(call.name)));
      return 1;
    }
    return 0;
  };
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, [&] { return make_all(kPermitted); }), 0);
}

TEST_F(Filter, PermitsThemInLogMode) {
  EXPECT_EQ(exit_code(SandboxMode::log, needs_, [] { return error_of_call(::personality(0xffffffff)); }), 0);
  EXPECT_EQ(exit_code(SandboxMode::log, needs_,
                      [] { return error_of_call(syscall(SYS_execve, "/does/not/exist", nullptr, nullptr)); }),
            ENOENT);
}

TEST_F(Filter, OpensNoFilesByHandleInStrictMode) {
  const auto open_by_handle = [] { return error_of_call(syscall(SYS_open_by_handle_at, -1, nullptr, 0)); };
  EXPECT_NE(exit_code(SandboxMode::on, needs_, open_by_handle), ENOSYS);
  const int expected = landlock_version() >= 2 ? ENOSYS : kFailedToEnter;
  EXPECT_EQ(exit_code(SandboxMode::strict, needs_, open_by_handle), expected);
}

TEST_F(Filter, EndsTheProcessOnAbort) {
  const int status = status_of(SandboxMode::on, needs_, [] {
    std::abort();
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST_F(Filter, HoldsForThreadsThatStartLater) {
  EXPECT_EQ(exit_code(SandboxMode::on, needs_,
                      [] {
                        int failed = 0;
                        std::thread([&] { failed = error_of_call(syscall(SYS_unshare, 0)); }).join();
                        return failed;
                      }),
            ENOSYS);
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, [] { return own_status("Seccomp") == "2" ? 0 : 1; }), 0);
}

TEST_F(Sandbox, OffChangesNothing) {
  const std::string before = own_status("NoNewPrivs") + own_status("CapPrm") + own_status("Seccomp");
  EXPECT_EQ(exit_code(SandboxMode::off, needs_,
                      [&] {
                        const auto now = own_status("NoNewPrivs") + own_status("CapPrm") + own_status("Seccomp");
                        return now == before ? 0 : 1;
                      }),
            0);
}

TEST_F(Sandbox, GivesUpPrivileges) {
  const std::uint64_t before = own_capabilities("CapPrm");
  const auto left = [&](std::uint64_t expected) {
    return [=] {
      const bool all = own_capabilities("CapPrm") == (before & expected) && own_capabilities("CapInh") == 0 &&
                       (own_capabilities("CapEff") & ~expected) == 0 && own_status("NoNewPrivs") == "1";
      return all ? 0 : 1;
    };
  };
  std::uint64_t kept = 0;
  for (const int one : {CAP_SETUID, CAP_SETGID, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER,
                        CAP_FSETID, CAP_SYS_RESOURCE, CAP_IPC_LOCK})
    kept |= bit(one);
  if (!filters_system_calls()) kept |= bit(CAP_SYS_PTRACE);
  needs_.tcp_ports = {0, 1024, 20049};
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, left(kept)), 0);
  needs_.devices = true;
  needs_.tcp_ports.push_back(1023);
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, left(kept | bit(CAP_MKNOD) | bit(CAP_NET_BIND_SERVICE))), 0);
}

TEST_F(Sandbox, BindsItsPortsAndConnectsToNone) {
  const bool confined = landlock_version() >= 4;
  const auto call = [](auto function, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return error_of_call(function(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  };
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, [&] { return call(::bind, 0); }), 0);
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, [&] { return call(::connect, 1); }), confined ? EACCES : ECONNREFUSED);
  needs_.tcp_ports = {20049};
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, [&] { return call(::bind, 0); }), confined ? EACCES : 0);
}

TEST_F(Sandbox, OpensFilesAnywhereUnlessStrict) {
  EXPECT_EQ(exit_code(SandboxMode::on, needs_, [&] { return open_error("outside/file", O_RDWR); }), 0);
}

TEST_F(Sandbox, StrictConfinesToTheNamedPaths) {
  const auto strictly = [this](auto body) { return exit_code(SandboxMode::strict, needs_, body); };
  if (landlock_version() < 2) {
    const auto entered = enter_sandbox(SandboxMode::strict, needs_, Log());
    ASSERT_FALSE(entered);
    EXPECT_THAT(entered.error().text, HasSubstr("--sandbox strict: Landlock: "));
    return;
  }
  EXPECT_EQ(strictly([&] { return open_error("outside/file", O_RDONLY); }), EACCES);
  EXPECT_EQ(strictly([&] { return open_error("outside/file", O_WRONLY); }), EACCES);
  EXPECT_EQ(strictly([&] { return open_error("outside/new", O_WRONLY | O_CREAT); }), EACCES);
  // The test accepts any error, because Landlock may refuse a rename to another directory with EACCES or with EXDEV.
  EXPECT_NE(strictly([&] { return error_of_call(::rename(path("writable/file").c_str(), path("outside/x").c_str())); }),
            0);
  EXPECT_EQ(strictly([&] { return open_error("readable/file", O_RDONLY); }), 0);
  EXPECT_EQ(strictly([&] { return open_error("readable/file", O_WRONLY); }), EACCES);
  EXPECT_EQ(strictly([&] { return error_of_call(::unlink(path("readable/file").c_str())); }), EACCES);
  EXPECT_EQ(strictly([&] { return open_error("writable/file", O_RDWR | O_TRUNC); }), 0);
  EXPECT_EQ(strictly([&] { return open_error("writable/new", O_WRONLY | O_CREAT); }), 0);
  EXPECT_EQ(
      strictly([&] { return error_of_call(::rename(path("writable/new").c_str(), path("writable/sub/new").c_str())); }),
      0);
  EXPECT_EQ(strictly([&] { return error_of_call(::symlink("x", path("writable/link").c_str())); }), 0);
  EXPECT_EQ(strictly([&] { return own_status("NoNewPrivs") == "1" ? 0 : 1; }), 0);
}

TEST_F(Sandbox, ModesHaveNames) {
  EXPECT_EQ(parse_sandbox_mode("off"), SandboxMode::off);
  EXPECT_EQ(parse_sandbox_mode("log"), SandboxMode::log);
  EXPECT_EQ(parse_sandbox_mode("on"), SandboxMode::on);
  EXPECT_EQ(parse_sandbox_mode("strict"), SandboxMode::strict);
  EXPECT_EQ(parse_sandbox_mode("ON"), std::nullopt);
}

}  // namespace
}  // namespace rpcrdma::nfsd
