// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "hunt.hpp"

namespace rpcrdma::sim {

/// Returns nothing if the program must exit with `status`; errors in the command line have been reported.
std::optional<HuntOptions> parse_options(int argc, const char* const* argv, int& status);

}  // namespace rpcrdma::sim
