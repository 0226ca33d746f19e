// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "setting.hpp"

namespace rpcrdma::bench {

/// Prints the memory that a server has registered for the receives of `connections` connections. Version one: with
/// receives of 4 KiB, and of 64 KiB. Version two: before the receives grow, when they have grown on a hundredth or on
/// all of the connections, and when the clients are idle again.
void print_receive_memory(const Setting& setting, std::uint32_t connections);

}  // namespace rpcrdma::bench
