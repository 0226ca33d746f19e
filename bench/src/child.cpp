// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <stdexcept>

namespace rpcrdma::bench {

Child::Child(const std::function<void(const std::function<void(std::uint16_t)>&)>& serve) {
  std::array<int, 2> pipe_ends{};
  if (::pipe(pipe_ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    ::close(pipe_ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    try {
      serve([&](std::uint16_t port) {
        if (::write(pipe_ends[1], &port, sizeof port) != static_cast<ssize_t>(sizeof port)) ::_exit(1);
        ::close(pipe_ends[1]);
      });
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  const ssize_t got = ::read(pipe_ends[0], &port_, sizeof port_);
  ::close(pipe_ends[0]);
  if (got != static_cast<ssize_t>(sizeof port_)) {
    ::waitpid(pid_, nullptr, 0);
    throw std::runtime_error("a benchmark server did not start");
  }
}

Child::~Child() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace rpcrdma::bench
