// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>

namespace rpcrdma::tirpc {

/// The descriptor that is readable when `context` has an event to handle: what svc_run() can poll. Valid as long as the
/// context, which alone uses it otherwise. Functions posted to the context do not make it readable.
int descriptor_of(boost::asio::io_context& context) noexcept;

}  // namespace rpcrdma::tirpc
