// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/service_manager.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace rpcrdma::nfsd {
namespace {

/// Connects to a path, or to an abstract name, which begins with '@'.
Fd connect_to(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(name);
  if ((name[0] != '/' && name[0] != '@') || size >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, name, size);
  if (name[0] == '@') address.sun_path[0] = '\0';
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  // The socket interface takes every address as a sockaddr.
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
  return fd;
}

/// The number in an environment variable; 0 if it is not set.
std::uint64_t number_of(const char* variable) {
  const char* text = std::getenv(variable);
  std::uint64_t value = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

ServiceManager::ServiceManager() {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return;
  socket_ = connect_to(name);
  const std::uint64_t process = number_of("WATCHDOG_PID");
  const std::uint64_t limit = number_of("WATCHDOG_USEC");
  if (socket_ && limit >= 2 && (process == 0 || process == static_cast<std::uint64_t>(::getpid())))
    interval_ = std::chrono::microseconds(limit / 2);
}

void ServiceManager::ready(std::string_view status) const {
  std::string line(status);
  std::ranges::replace(line, '\n', ' ');
  send("READY=1\nSTATUS=" + line, 0);
}

void ServiceManager::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=rereading the exports",
                   now.tv_sec * 1'000'000 + now.tv_nsec / 1000),
       MSG_DONTWAIT);
}

void ServiceManager::stopping() const { send("STOPPING=1\nSTATUS=draining calls in progress", MSG_DONTWAIT); }

void ServiceManager::alive() const { send("WATCHDOG=1", MSG_DONTWAIT); }

/// Sends `message` to the service manager, if there is one. If the socket has no room, waits for room if `flags` is 0,
/// and loses the message if `flags` is MSG_DONTWAIT. ready() passes 0, because the service manager would end the
/// service if it did not receive READY=1.
void ServiceManager::send(std::string_view message, int flags) const {
  if (socket_) static_cast<void>(::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | flags));
}

}  // namespace rpcrdma::nfsd
