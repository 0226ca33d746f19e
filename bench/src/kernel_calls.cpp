// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_calls.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace rpcrdma::bench {
namespace {

constexpr const char* kTracing = "/sys/kernel/tracing";

/// The ID of the tracepoint sys_enter, as text; empty if it cannot be read.
std::string read_id() {
  std::ifstream file(std::string(kTracing) + "/events/raw_syscalls/sys_enter/id");
  std::string text;
  std::getline(file, text);
  return text;
}

/// Reads the ID of the tracepoint in a child process. If tracefs is not mounted, the child mounts it in a mount
/// namespace of its own.
std::optional<std::uint64_t> event_id() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t reader = ::fork();
  if (reader == 0) {
    std::string text = read_id();
    if (text.empty() && ::unshare(CLONE_NEWNS) == 0 &&
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("tracefs", kTracing, "tracefs", 0, nullptr) == 0) {
      text = read_id();
    }
    const ssize_t written = ::write(write_end.get(), text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  write_end = {};
  std::array<char, 32> text{};
  const ssize_t length = reader < 0 ? 0 : ::read(read_end.get(), text.data(), text.size() - 1);
  if (reader > 0) ::waitpid(reader, nullptr, 0);
  if (length <= 0) return std::nullopt;
  return std::stoull(text.data());
}

Fd open_event(std::uint64_t id, pid_t thread) {
  perf_event_attr event{};
  event.type = PERF_TYPE_TRACEPOINT;
  event.size = sizeof event;
  event.config = id;
  event.inherit = 1;
  event.inherit_thread = 1;
  return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

KernelCalls::KernelCalls(pid_t process) {
  static const std::optional<std::uint64_t> id = event_id();
  if (!id || process < 0) return;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    Fd event = open_event(*id, std::stoi(thread.path().filename().string()));
    if (!event) {
      events_.clear();
      return;
    }
    events_.push_back(std::move(event));
  }
}

std::optional<std::uint64_t> KernelCalls::count() const {
  if (events_.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  for (const Fd& event : events_) {
    std::uint64_t value = 0;
    if (::read(event.get(), &value, sizeof value) != static_cast<ssize_t>(sizeof value)) return std::nullopt;
    sum += value;
  }
  return sum;
}

}  // namespace rpcrdma::bench
