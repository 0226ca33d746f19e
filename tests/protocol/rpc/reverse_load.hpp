// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Load in both directions of one connection at once: forward calls with Read and Write chunks, and reverse calls.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

struct ReverseLoad {
  fabric::Fabric* client = nullptr;  ///< both fabrics belong to one io_context
  fabric::Fabric* server = nullptr;
  fabric::Endpoint local;                           ///< where the server listens
  std::uint32_t calls = 0;                          ///< that succeed, in each direction
  bool may_be_lost = false;                         ///< the connection
  std::function<void()> disturb;                    ///< runs after each completion, of either direction; may be empty
  Log log;                                          ///< of the connections
  std::function<std::uint64_t()> most_losses = {};  ///< at the end, if the connection may be lost; empty: any number
};

/// Runs the load and expects: each call of either direction completes exactly once and with the right data; no call of
/// the forward direction fails, and none of the reverse direction but by connection_lost, after which it is repeated on
/// the next connection; neither side exceeds its grant; memory, receives and windows are given back in the end.
void run_in_both_directions(boost::asio::io_context& context, const ReverseLoad& load);

/// 100,000 if RPCRDMA_E2E_SCALE is "full", else `small`.
std::uint32_t calls_in_each_direction(std::uint32_t small);

}  // namespace rpcrdma::test
