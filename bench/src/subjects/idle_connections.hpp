// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "child.hpp"
#include "setting.hpp"

namespace rpcrdma::bench {

/// Starts a process that holds `count` connections to the server at `port`. When this function returns, one call has
/// been made on each of them.
std::unique_ptr<Child> hold_connections(const Setting& setting, std::uint16_t port, std::uint32_t count);

}  // namespace rpcrdma::bench
