// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <string_view>

namespace rpcrdma::bench {

/// Which processors the servers and their clients run on.
enum class Placement : std::uint8_t {
  free,     ///< wherever the scheduler puts them, which may change within a run
  apart,    ///< servers and clients on different processors, as on two hosts; `free` if there is only one
  together  ///< all on one processor
};

/// "free", "apart" or "together"; anything else is `free`.
Placement parse_placement(std::string_view name) noexcept;

/// Binds this process to the processor of the servers, which are forked after this. Throws std::runtime_error.
void place_servers(Placement placement);
/// Binds this process to the processor of the clients. Throws std::runtime_error.
void place_clients(Placement placement);

}  // namespace rpcrdma::bench
