// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace rpcrdma::commands {

/// Replaces this process with rpcrdma-top, which shows the statistics that a server serves at `address` (ADDR:PORT): at
/// intervals or, with `once`, only the totals since the server's start. With `json`, it prints JSON. Looks for
/// rpcrdma-top in the directory of this program, and then in PATH. If rpcrdma-top cannot be run, prints the error and
/// returns the exit status.
int run_statistics(const std::string& address, bool once, bool json);

}  // namespace rpcrdma::commands
