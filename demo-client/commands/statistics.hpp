// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace rpcrdma::commands {

/// Shows the statistics that a server serves at `address`, ADDR:PORT: at intervals, or with `once` those since its
/// start; as JSON with `json`. Replaces the process with rpcrdma-top, which is searched for in the directory of this
/// program, then in PATH. Returns, with the exit status, only if that fails.
int run_statistics(const std::string& address, bool once, bool json);

}  // namespace rpcrdma::commands
