// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "setting.hpp"

namespace rpcrdma::bench {

/// Prints the memory that a server has registered for the receives of so many connections: of version one, and of
/// version two before, while and after the clients' calls make receives grow.
void print_receive_memory(const Setting& setting, std::uint32_t connections);

}  // namespace rpcrdma::bench
