// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// Ends `queue_pair` permanently; may be called within one of its callbacks: quiesces it now and destroys
/// it from `context`, the io_context of its fabric. If the io_context is destroyed first, the queue pair is destroyed
/// with it. Null is allowed. The windows of the queue pair are destroyed before this call.
void delete_later(boost::asio::io_context& context, std::unique_ptr<QueuePair> queue_pair);

}  // namespace rpcrdma::fabric
