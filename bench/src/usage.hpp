// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"
#include "tally.hpp"

namespace rpcrdma::bench {

/// What a process has done so far.
struct Totals {
  std::uint64_t allocations = 0;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t empty_receives = 0;
  std::uint64_t waits = 0;
  std::uint64_t yields = 0;
  std::uint64_t others = 0;
  fabric::Counters fabric;  ///< zero without a fabric, or where its counters are not visible

  static Totals of(const tally::Counts& counts, const fabric::Counters& fabric = {}) {
    return {counts.allocations, counts.sends,  counts.receives, counts.empty_receives,
            counts.waits,       counts.yields, counts.others,   fabric};
  }
};

/// What a subject has done so far, on both its sides.
struct Usage {
  Totals client;
  Totals server;
};

}  // namespace rpcrdma::bench
