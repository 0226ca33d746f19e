// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::bench {
namespace {

Board* shared_board() {
  void* at = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap failed");
  return new (at) Board();
}

}  // namespace

Child::Child(const std::function<void(Board&, const Ready&)>& serve) : board_(shared_board()) {
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  Fd read_end(pipe_ends[0]);
  Fd write_end(pipe_ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    read_end = {};
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    tally::count_in(board_->counts);
    try {
      serve(*board_, [&](std::uint16_t port) {
        if (::write(write_end.get(), &port, sizeof port) != static_cast<ssize_t>(sizeof port)) ::_exit(1);
        write_end = {};
      });
    } catch (const std::exception& error) {
      fmt::print(stderr, "rpcrdma-bench: {}\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  write_end = {};
  const ssize_t got = ::read(read_end.get(), &port_, sizeof port_);
  if (got != static_cast<ssize_t>(sizeof port_)) {
    ::waitpid(pid_, nullptr, 0);
    throw std::runtime_error("a benchmark server did not start");
  }
}

Child::~Child() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::munmap(board_, sizeof(Board));
}

Usage Child::usage(const fabric::Counters& fabric) const {
  return {Totals::here(fabric), Totals::of(board_->counts, board_->fabric, pid_)};
}

Usage Child::usage_of_program() const { return {Totals::here(), Totals::unknown(pid_)}; }

std::uint64_t Child::resident() const {
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  throw std::runtime_error("the memory of a benchmark server cannot be read");
}

}  // namespace rpcrdma::bench
