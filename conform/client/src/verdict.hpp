// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The outcome of a run of the command, and the verdict on it.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::conform::client {

/// The requirement of one case, in addition to those that all cases share.
enum class Expect {
  endless,  ///< the command may run until it is killed, as the listing has no end
  any,      ///< the command ends, with any exit status; its files may differ from those without the fault
  intact,   ///< the command ends; if its exit status is 0, all files are as they would be without the fault
  success,  ///< exit status 0, and all files are as they would be without the fault
  failure,  ///< an exit status other than 0
};

/// The outcome of one run of the command.
struct Outcome {
  bool ended = true;   ///< false: it was killed, because it ran too long or did not stop retrying
  int status = 0;      ///< exit status, if it ended without a signal
  int signal = 0;      ///< the signal that ended it; 0: none
  std::string output;  ///< the end of its standard output and standard error
  std::size_t calls = 0, connections = 0;
  bool retries_without_end = false;
  std::chrono::milliseconds took{0}, silent{0};  ///< `took`: the whole run; `silent`: its part after the last call
  std::uint64_t memory = 0;                      ///< peak resident bytes
  std::vector<std::string> outside;  ///< files that the command made, changed or removed outside of its directory
  std::vector<std::string> damaged;  ///< files that are missing or differ from those of the run without a fault
};

/// Limits on the resources that the command may use in a run. judge() applies them for every value of Expect.
struct Bounds {
  std::uint64_t memory = 0;  ///< peak resident bytes; 0: no limit
};

/// The reason why the run fails the case; empty if it passes.
std::string judge(const Outcome& outcome, Expect expect, const Bounds& bounds);

/// Describes a crash of the command: a signal, a shell's exit status for a signal, or the report of a sanitizer. Empty
/// if there was no crash.
std::string crash_of(const Outcome& outcome);

/// How the command ended, for reports.
std::string describe(const Outcome& outcome);

}  // namespace rpcrdma::conform::client
