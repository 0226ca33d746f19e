// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/host_path.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::capture {

/// Applies rpcrdma::unmapped() to the address of `endpoint`.
inline fabric::Endpoint unmapped(const fabric::Endpoint& endpoint) {
  return {rpcrdma::unmapped(endpoint.address()), endpoint.port()};
}

}  // namespace rpcrdma::capture
