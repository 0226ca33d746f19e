// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "child.hpp"
#include "setting.hpp"

namespace rpcrdma::bench {

/// Credits of each side of a connection: the greatest depth of all cases and sweeps.
constexpr std::uint32_t kCredits = 64;

/// Serves the service of service.hpp on one thread, until the process is killed.
void serve_rpcrdma(const Setting& setting, Board& board, const Child::Ready& ready);

}  // namespace rpcrdma::bench
