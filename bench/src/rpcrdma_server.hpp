// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <functional>

#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::bench {

/// Serves the benchmark's procedures over RDMA on 127.0.0.1, on one thread, for ever: READ from registered
/// memory, WRITE into buffers of the pool.
void serve_rpcrdma(const fabric::OpenOptions& options, const std::function<void(std::uint16_t)>& ready);

}  // namespace rpcrdma::bench
