// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "placement.hpp"

namespace rpcrdma::bench {

/// The time to wake a sleeping thread on this machine, in microseconds: half of the round trip between two threads that
/// wake each other by a futex. If the placement fixes the processors, one of the threads runs on the processor of the
/// servers, and the other thread runs on the processor of the clients.
struct WakeUp {
  double median;
  double percentile_90;
};

/// Measures the time to wake a thread. The measurement takes about 100 ms. Its threads end before the function returns.
WakeUp measure_wakeup(Placement placement);

}  // namespace rpcrdma::bench
