// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "placement.hpp"

namespace rpcrdma::bench {

/// The time to wake a sleeping thread on this machine, in microseconds: half of the round trip between two threads,
/// one on the processor of the servers and one on that of the clients, which wake each other by a futex.
struct WakeUp {
  double median;
  double percentile_90;
};

/// Takes some 100 ms. Ends its threads before it returns.
WakeUp measure_wakeup(Placement placement);

}  // namespace rpcrdma::bench
