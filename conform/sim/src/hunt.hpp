// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "plan.hpp"
#include "run.hpp"

namespace rpcrdma::sim {

struct HuntOptions {
  std::uint64_t seed = 1;  ///< the first one
  std::uint64_t seeds = 1;
  bool liveness = false;
  std::uint64_t failures = 1;  ///< end after this many seeds have failed
  bool shrink = true;
  std::optional<std::vector<std::uint32_t>> faults;  ///< numbers of the faults that stay in the script; nullopt: all
  std::optional<std::uint32_t> operations;           ///< replaces Setup::operations; empty: the seed determines it
  RunOptions run;
};

/// Plays the plans of the seeds in child processes, which may crash. Ends early after `failures` failures. Prints each
/// failure and, with `shrink`, a shortened script. Returns the number of seeds that failed.
std::uint64_t hunt(const HuntOptions& options);

}  // namespace rpcrdma::sim
