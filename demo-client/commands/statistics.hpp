// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace rpcrdma::commands {

/// Prints the statistics that a server serves at `address`, ADDR:PORT. Replaces the process by rpcrdma-top, which it
/// looks for beside this program, then in PATH; returns the exit status if that fails.
int run_statistics(const std::string& address, bool json);

}  // namespace rpcrdma::commands
