// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "child.hpp"
#include "setting.hpp"

namespace rpcrdma::bench {

/// The credits for which the client and the server of a connection are configured. The number is the greatest
/// Case::depth of all cases and sweeps, because one connection may have that many operations in flight.
constexpr std::uint32_t kCredits = 64;

/// Serves the service of service.hpp on one thread, until the process is killed.
void serve_rpcrdma(const Setting& setting, Board& board, const Child::Ready& ready);

}  // namespace rpcrdma::bench
