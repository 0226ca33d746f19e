// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>

namespace rpcrdma::tirpc {

/// The descriptor that is readable when `context` has an event to handle, for svc_run() to poll. Valid as long as the
/// context. The caller may only poll it. Functions posted to the context do not make it readable.
int descriptor_of(boost::asio::io_context& context) noexcept;

}  // namespace rpcrdma::tirpc
