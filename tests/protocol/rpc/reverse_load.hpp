// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Load in both directions of one connection at once: forward calls, with Read and Write chunks, and reverse calls.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

struct ReverseLoad {
  fabric::Fabric* client = nullptr;                 ///< fabric of the client, on the same io_context as `server`
  fabric::Fabric* server = nullptr;                 ///< fabric of the server
  fabric::Endpoint local;                           ///< where the server listens
  std::uint32_t calls = 0;                          ///< number of calls that must succeed in each direction
  bool may_be_lost = false;                         ///< whether the connection may be lost
  std::function<void()> disturb;                    ///< runs after each completion of either direction; may be empty
  Log log;                                          ///< log of the connections
  std::function<std::uint64_t()> most_losses = {};  ///< how often the connection may be lost; empty: no limit
};

/// Runs the load, and checks the following. Each call succeeds exactly once, with the right data. No forward call
/// fails. A reverse call fails only with connection_lost, and only if `may_be_lost` is set. The server makes such a
/// call again on the next connection. Neither side has more calls in flight than its peer has granted. At the end all
/// memory of the pools has been released.
void run_in_both_directions(boost::asio::io_context& context, const ReverseLoad& load);

/// Returns 100,000 if RPCRDMA_E2E_SCALE is "full", else `small`.
std::uint32_t calls_in_each_direction(std::uint32_t small);

}  // namespace rpcrdma::test
