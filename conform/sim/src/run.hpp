// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "plan.hpp"
#include "rpcrdma/base/log.hpp"
#include "trace.hpp"

namespace rpcrdma::sim {

struct RunOptions {
  bool trace = false;  ///< print each event
  LogLevel log = LogLevel::off;
};

/// The outcome of a plan.
struct Outcome {
  std::optional<Violation> violation;
  std::uint64_t hash = 0;  ///< hash of the trace; the same in each run of a plan
  std::uint64_t steps = 0;
  std::uint64_t frames = 0;
  std::uint64_t calls = 0;  ///< calls that the servers received
};

/// Plays `plan` to its end, or to the first violation. After a violation, the objects of the run are not destroyed.
Outcome play(const Plan& plan, const RunOptions& options);

}  // namespace rpcrdma::sim
