// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "hunt.hpp"

namespace rpcrdma::sim {

/// Parses the command line. Returns nothing if the program must exit at once. In this case the function has printed the
/// help, the version or an error, and has set `status` to the exit status of the program.
std::optional<HuntOptions> parse_options(int argc, const char* const* argv, int& status);

}  // namespace rpcrdma::sim
