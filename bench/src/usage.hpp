// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/types.h>

#include "rpcrdma/fabric/fabric.hpp"
#include "tally.hpp"

namespace rpcrdma::bench {

/// Totals of a process since its start.
struct Totals {
  pid_t process = -1;    ///< -1: there is none
  bool counted = false;  ///< false: only the processor time is known
  double processor = 0;  ///< seconds of processor time, of all threads
  std::uint64_t allocations = 0;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t empty_receives = 0;
  std::uint64_t waits = 0;
  std::uint64_t yields = 0;
  std::uint64_t others = 0;
  fabric::Counters fabric{};  ///< zero without a fabric, or where its counters are not visible

  static Totals of(const tally::Counts& counts, const fabric::Counters& fabric, pid_t process);
  /// The totals of this process.
  static Totals here(const fabric::Counters& fabric = {});
  /// The totals of a process whose counters this program cannot read: of the totals, only the processor time is known.
  /// `process` is -1 if there is no process. The processor time is then 0.
  static Totals unknown(pid_t process = -1);
};

/// Totals of a subject since its start, on both its sides.
struct Usage {
  Totals client;
  Totals server;
};

}  // namespace rpcrdma::bench
