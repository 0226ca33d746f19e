// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace rpcrdma::commands {

/// Replaces this process with rpcrdma-top, which shows the statistics that a server serves at `address` (ADDR:PORT). If
/// `once` is true, rpcrdma-top shows only the totals since the server's start; otherwise it shows statistics at
/// intervals. If `json` is true, it prints JSON. Looks for rpcrdma-top in the directory of this program, and then in
/// PATH. If rpcrdma-top cannot be run, prints the error and returns the exit status for this program.
int run_statistics(const std::string& address, bool once, bool json);

}  // namespace rpcrdma::commands
