// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>

namespace rpcrdma::tirpc {

/// Returns a descriptor that is readable when `context` has an event to handle, so that svc_run() can poll it. A
/// function that is posted to the context does not make the descriptor readable. The descriptor belongs to the context,
/// and is valid until the context is destroyed. The caller may do nothing but poll it.
int descriptor_of(boost::asio::io_context& context) noexcept;

}  // namespace rpcrdma::tirpc
