// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "child.hpp"
#include "setting.hpp"

namespace rpcrdma::bench {

/// A process that holds `count` connections to the server at `port`, each of which has made one call. They exist
/// when this returns.
std::unique_ptr<Child> hold_connections(const Setting& setting, std::uint16_t port, std::uint32_t count);

}  // namespace rpcrdma::bench
