// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// Quiesces `queue_pair` now, and destroys it later from `context`, the io_context of its fabric. May be called within
/// a callback of the queue pair. If the io_context is destroyed first, the queue pair is destroyed with it. Null is
/// allowed. The caller must have destroyed the windows of the queue pair.
void delete_later(boost::asio::io_context& context, std::unique_ptr<QueuePair> queue_pair);

}  // namespace rpcrdma::fabric
