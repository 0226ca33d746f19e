// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace rpcrdma::commands {

/// Shows the statistics that a server serves at `address` (ADDR:PORT): at intervals or, with `once`, only the totals
/// since the server's start. With `json`, prints JSON. Replaces this process with rpcrdma-top, found in the directory
/// of this program or else in PATH. If that fails, prints the error and returns the exit status.
int run_statistics(const std::string& address, bool once, bool json);

}  // namespace rpcrdma::commands
