// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "placement.hpp"

namespace rpcrdma::bench {

/// The time to wake a sleeping thread on this machine, in microseconds: half of the round trip between two threads that
/// wake each other by a futex. They run on the processors of the servers and of the clients, if those are fixed.
struct WakeUp {
  double median;
  double percentile_90;
};

/// Measures the time to wake a thread. The measurement takes about 100 ms. Its threads end before the function returns.
WakeUp measure_wakeup(Placement placement);

}  // namespace rpcrdma::bench
