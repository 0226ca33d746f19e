// SPDX-License-Identifier: BSD-3-Clause
#include "verdict.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstring>

namespace rpcrdma::conform::client {
namespace {

constexpr int kStatusOfSignal = 128;  // a shell reports signal N of its command as status 128 + N
constexpr std::array kCrashes{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
constexpr std::array<std::string_view, 5> kSanitizers{"AddressSanitizer", "LeakSanitizer", "MemorySanitizer",
                                                      "ThreadSanitizer", "runtime error: "};

bool is_crash(int signal) {
  for (const int each : kCrashes)
    if (signal == each) return true;
  return false;
}

std::string name_of_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : fmt::format("signal {}", signal);
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  return out;
}

std::string why_not_ended(const Outcome& outcome) {
  const std::string made = fmt::format("{} calls on {} connections in {:.1f} s", outcome.calls, outcome.connections,
                                       static_cast<double>(outcome.took.count()) / 1000);
  if (outcome.retries_without_end) return "the command retries without end: " + made;
  return fmt::format("the command is stuck: it has not ended, {}, the last one {:.1f} s ago", made,
                     static_cast<double>(outcome.silent.count()) / 1000);
}

}  // namespace

std::string crash_of(const Outcome& outcome) {
  if (outcome.ended && outcome.signal != 0) return "the command crashed: " + name_of_signal(outcome.signal);
  if (outcome.ended && is_crash(outcome.status - kStatusOfSignal))
    return fmt::format("the command crashed: exit status {}, {} in a program that it ran", outcome.status,
                       name_of_signal(outcome.status - kStatusOfSignal));
  for (const std::string_view each : kSanitizers)
    if (outcome.output.find(each) != outcome.output.npos)
      return fmt::format("the command crashed: its output contains \"{}\"", each);
  return {};
}

std::string judge(const Outcome& outcome, Expect expect, const Bounds& bounds) {
  if (std::string crash = crash_of(outcome); !crash.empty()) return crash;
  if (!outcome.outside.empty()) return "the command wrote outside of its directory: " + list_of(outcome.outside);
  if (bounds.memory != 0 && outcome.memory > bounds.memory)
    return fmt::format("the command used {} MiB of memory", outcome.memory >> 20);
  if (expect == Expect::endless) return {};
  if (!outcome.ended) return why_not_ended(outcome);
  const bool good = outcome.status == 0;
  switch (expect) {
    case Expect::endless:
    case Expect::any: return {};
    case Expect::failure: return good ? "the command reports success" : "";
    case Expect::success:
      if (!good) return fmt::format("the command fails: exit status {}", outcome.status);
      [[fallthrough]];
    case Expect::intact:
      return good && !outcome.damaged.empty()
                 ? "the command reports success, but files are damaged or missing: " + list_of(outcome.damaged)
                 : "";
  }
  return {};
}

std::string describe(const Outcome& outcome) {
  const std::string made = fmt::format("{} calls on {} connections", outcome.calls, outcome.connections);
  if (!outcome.ended) return "the command had to be killed, " + made;
  if (outcome.signal != 0) return fmt::format("ended by {}, {}", name_of_signal(outcome.signal), made);
  return fmt::format("exit status {}, {}", outcome.status, made);
}

}  // namespace rpcrdma::conform::client
