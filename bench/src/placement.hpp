// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace rpcrdma::bench {

/// Which processors the servers and their clients run on.
enum class Placement : std::uint8_t {
  free,     ///< wherever the scheduler puts them, which may change within a run
  apart,    ///< servers and clients on different processors, as on two hosts; with one processor, as `free`
  together  ///< all on one processor
};

/// "free", "apart" or "together"; anything else is `free`.
Placement parse_placement(std::string_view name) noexcept;

/// True if servers and clients are bound to different processors.
bool are_apart(Placement placement);
/// The processors of the servers and of the clients; nothing if the scheduler chooses.
std::optional<std::pair<int, int>> processors_of(Placement placement);
/// Binds the calling thread to a processor. Throws std::runtime_error.
void run_on(int processor);

/// Binds this process to the processor of the servers, if processors_of() returns one. Fork the servers after this.
/// Throws std::runtime_error.
void place_servers(Placement placement);
/// Binds this process to the processor of the clients, if processors_of() returns one. Throws std::runtime_error.
void place_clients(Placement placement);

}  // namespace rpcrdma::bench
