// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "script.hpp"

namespace rpcrdma::proxy {

/// Totals of the proxy since its start. `unframed` counts the directions of connections into which the proxy no longer
/// injects faults. `skipped` counts the faults that did not apply to their frame. `messages` is indexed by Kind, and
/// `faults` by Action.
struct Counters {
  std::uint64_t connections = 0, unframed = 0, frames = 0, bytes = 0, skipped = 0;
  std::array<std::uint64_t, kKindNames.size()> messages{};
  std::array<std::uint64_t, kActionNames.size()> faults{};

  /// One line of NAME=VALUE.
  std::string text() const;
};

}  // namespace rpcrdma::proxy
