// SPDX-License-Identifier: BSD-3-Clause
// Operation: ganesha registers with rpcbind on a Unix socket in /run, and exits if no rpcbind listens there. To leave
// the machine's own rpcbind unchanged, ganesha gets a private /run with an rpcbind that has no network.
// Ownership: the child becomes ganesha. A helper process starts rpcbind, and kills it when ganesha has ended. The
// kernel's parent-death signal cannot do that: a process that gives up privileges, as rpcbind does, loses it.
// Error handling: a child that ends early makes the start fail, and the last line of ganesha's log is the reason.
#include "ganesha.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "loopback.hpp"
#include "rpcrdma/base/fd.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {
namespace {

/// The path of a program of the system; empty if it is not installed.
std::string find_program(const char* name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    std::string path = std::string(folder) + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

/// Two ports of 127.0.0.1 that are free now: ganesha cannot choose its ports itself.
std::pair<std::uint16_t, std::uint16_t> free_ports() {
  std::array<Fd, 2> sockets;
  std::array<std::uint16_t, 2> ports{};
  for (std::size_t i = 0; i < 2; ++i) {
    sockets[i] = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(sockets[i].get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(sockets[i].get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("cannot bind a port of 127.0.0.1");
    }
    ports[i] = ntohs(address.sin_port);
  }
  return {ports[0], ports[1]};
}

bool accepts(const sockaddr* address, socklen_t size) {
  const Fd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), address, size) == 0;
}

/// Waits until `condition` holds, and then returns true. Returns false if `condition` does not hold within about a
/// minute, or if `parent`, which must be the parent of this process, ends first.
bool wait_for(pid_t parent, const std::function<bool()>& condition) {
  for (int i = 0; i < 6000 && ::getppid() == parent; ++i) {
    if (condition()) return true;
    ::usleep(10'000);
  }
  return false;
}

void be_silent() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
}

struct Ports {
  std::uint16_t nfs;
  std::uint16_t mount;
};

/// Runs in a helper process, whose parent process becomes ganesha. Starts rpcbind, calls `ready` when ganesha listens
/// on both ports, and ends rpcbind when ganesha has ended. If ganesha does not listen in time, ends rpcbind at once and
/// does not call `ready`.
[[noreturn]] void help(const std::string& rpcbind, pid_t ganesha, const Ports& ports, const Child::Ready& ready) {
  be_silent();
  sigset_t end;
  ::sigemptyset(&end);
  ::sigaddset(&end, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &end, nullptr);
  // The kernel sends SIGTERM to this process when its parent, ganesha, ends. SIGTERM ends sigwait() below.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const pid_t registry = ::fork();
  if (registry == 0) {
    ::sigprocmask(SIG_UNBLOCK, &end, nullptr);
    if (::unshare(CLONE_NEWNET) == 0) ::execl(rpcbind.c_str(), "rpcbind", "-f", nullptr);
    ::_exit(1);
  }
  bool listening = registry > 0;
  for (const std::uint16_t port : {ports.mount, ports.nfs}) {
    const sockaddr_in address = loopback(port);
    listening = listening &&
                wait_for(ganesha, [&] { return accepts(reinterpret_cast<const sockaddr*>(&address), sizeof address); });
  }
  if (listening) {
    ready(ports.nfs);
    int signal = 0;
    if (::getppid() == ganesha) ::sigwait(&end, &signal);
  }
  if (registry > 0) ::kill(registry, SIGKILL);
  ::_exit(0);
}

/// Replaces this process by ganesha. Returns only on failure.
void become_ganesha(const std::string& ganesha, const std::string& rpcbind, const std::filesystem::path& folder,
                    const Ports& ports, const Child::Ready& ready) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0) {
    return;
  }
  const pid_t self = ::getpid();
  const pid_t bench = ::getppid();
  if (::fork() == 0) help(rpcbind, self, ports, ready);
  sockaddr_un socket{AF_UNIX, "/run/rpcbind.sock"};
  if (!wait_for(bench, [&] { return accepts(reinterpret_cast<const sockaddr*>(&socket), sizeof socket); })) return;
  be_silent();
  const std::string config = folder / "ganesha.conf";
  const std::string log = folder / "ganesha.log";
  const std::string pid = folder / "ganesha.pid";
  ::execl(ganesha.c_str(), "ganesha.nfsd", "-F", "-f", config.c_str(), "-L", log.c_str(), "-p", pid.c_str(), nullptr);
}

void write_config(const TemporaryDirectory& folder, const Ports& ports) {
  std::ofstream(folder.path() / "ganesha.conf") << fmt::format(
      "NFS_CORE_PARAM {{ Bind_addr = 127.0.0.1; NFS_Port = {}; MNT_Port = {}; Protocols = 3; Enable_NLM = false;\n"
      "  Enable_RQUOTA = false; Enable_UDP = false; }}\n"
      "NFSV4 {{ RecoveryBackend = fs; RecoveryRoot = \"{}\"; }}\n"
      "EXPORT {{ Export_Id = 1; Path = \"{}\"; Pseudo = /bench; Access_Type = RW; Squash = no_root_squash;\n"
      "  SecType = sys; Protocols = 3; Transports = TCP; FSAL {{ Name = VFS; }} }}\n",
      ports.nfs, ports.mount, folder.path().string(), folder.exported().string());
}

std::string last_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string last = "it ended without a message";
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line.substr(line.rfind(" :") == std::string::npos ? 0 : line.rfind(" :") + 2);
  return last;
}

}  // namespace

Ganesha::Ganesha(const TemporaryDirectory& folder) {
  const std::string ganesha = find_program("ganesha.nfsd");
  const std::string rpcbind = find_program("rpcbind");
  if (ganesha.empty() || rpcbind.empty())
    throw Unavailable("the packages nfs-ganesha and nfs-ganesha-vfs are not installed");
  if (::geteuid() != 0) throw Unavailable("nfs-ganesha needs root");
  const auto [nfs, mount] = free_ports();
  mount_port_ = mount;
  const Ports ports{nfs, mount};
  write_config(folder, ports);
  try {
    child_ = std::make_unique<Child>([&](Board&, const Child::Ready& ready) {
      become_ganesha(ganesha, rpcbind, folder.path(), ports, ready);
      ::_exit(1);
    });
  } catch (const std::runtime_error&) {
    throw Unavailable("ganesha.nfsd did not start: " + last_line(folder.path() / "ganesha.log"));
  }
}

}  // namespace rpcrdma::bench
