// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// Sends small messages over TCP to a server that returns them unchanged. Both sides use asynchronous operations of
/// Boost.Asio. The result shows the cost of an event loop without RPC and RDMA.
std::unique_ptr<Subject> make_raw_asio();

}  // namespace rpcrdma::bench
