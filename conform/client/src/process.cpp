// SPDX-License-Identifier: BSD-3-Clause
// Operation. SIGCHLD wakes the io_context, which then asks whether the process has ended. An ended process stays a
// zombie until the object is destroyed, so that no other process can get its id, which is also the id of its group.
// Ownership. The object owns the process group.
// Errors. The constructor throws if the command cannot be started.
#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace rpcrdma::conform::client {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& each : texts) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    const std::string each = *at;
    if (!added.contains(each.substr(0, each.find('=')))) out.push_back(each);
  }
  for (const auto& [name, value] : added) out.push_back(name + '=' + value);
  return out;
}

/// Actions and attributes of posix_spawn(3): a process group, default signals, the three standard descriptors.
class Spawning {
 public:
  explicit Spawning(const std::filesystem::path& output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(), O_WRONLY | O_APPEND, 0);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  pid_t start(std::vector<std::string> command, std::vector<std::string> environment) const {
    pid_t pid = -1;
    const int failed = posix_spawnp(&pid, command.front().c_str(), &actions_, &attributes_, pointers(command).data(),
                                    pointers(environment).data());
    if (failed != 0) throw std::system_error(failed, std::system_category(), "cannot run " + command.front());
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

std::string filled(std::string text, const std::map<std::string, std::string>& values) {
  for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == text.npos) break;
    const auto value = values.find(text.substr(at + 1, end - at - 1));
    if (value == values.end()) continue;
    text.replace(at, end - at + 1, value->second);
    at += value->second.size() - 1;
  }
  return text;
}

Process::Process(boost::asio::io_context& context, const std::vector<std::string>& command,
                 const std::map<std::string, std::string>& added, const std::filesystem::path& output)
    : children_(context, SIGCHLD) {
  pid_ = Spawning(output).start(command, environment_with(added));
  watch();
  look();
}

Process::~Process() {
  children_.cancel();
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) == -1 && errno == EINTR) continue;
}

void Process::watch() {
  children_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& failed, int) {
    if (failed || alive.expired()) return;
    look();
    if (!ended_) watch();
  });
}

void Process::look() {
  siginfo_t info{};
  rusage usage{};
  // Makes the system call directly, because the waitid() of the C library does not report the resource usage.
  if (syscall(SYS_waitid, P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT, &usage) != 0 || info.si_pid != pid_) return;
  ended_ = true;
  (info.si_code == CLD_EXITED ? status_ : signal_) = info.si_status;
  memory_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace rpcrdma::conform::client
