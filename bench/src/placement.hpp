// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <string_view>

namespace rpcrdma::bench {

/// Which processors the servers and their clients run on.
enum class Placement : std::uint8_t {
  free,     ///< wherever the scheduler puts them, which may change within a run
  apart,    ///< the servers on one processor and the clients on another, as two hosts would; free where there is one
  together  ///< all on one
};

/// "free", "apart" or "together"; anything else is `free`.
Placement parse_placement(std::string_view name) noexcept;

/// Binds this process to the processor of the servers, which are forked after this. Throws std::runtime_error.
void place_servers(Placement placement);
/// Binds this process to the processor of the clients. Throws std::runtime_error.
void place_clients(Placement placement);

}  // namespace rpcrdma::bench
