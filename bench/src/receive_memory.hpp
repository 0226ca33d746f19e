// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "setting.hpp"

namespace rpcrdma::bench {

/// Prints the bytes that a server has registered for the receives of `connections` connections, in six scenarios. Two
/// scenarios use version one, with receives of 4 KiB and of 64 KiB. Four use version two: before any receives grow,
/// after they have grown on one in a hundred connections, after they have grown on all connections, and after these
/// clients have become idle again.
void print_receive_memory(const Setting& setting, std::uint32_t connections);

}  // namespace rpcrdma::bench
