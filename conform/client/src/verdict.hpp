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
  any,      ///< the command ends; its files may differ
  intact,   ///< exit status 0 only if all files are as they would be without the fault
  success,  ///< exit status 0, and the files are right
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
  std::chrono::milliseconds took{0}, silent{0};  ///< silent: since its last call
  std::uint64_t memory = 0;                      ///< peak resident bytes
  std::vector<std::string> outside;              ///< files outside of its directory that it made, changed or removed
  std::vector<std::string> damaged;  ///< files that are missing or differ from those of the run without a fault
};

/// The limits of a run, whatever the case expects.
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
