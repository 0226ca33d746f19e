// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// RPC calls over TCP with record marking (RFC 5531 section 11), through the same interface as calls over RDMA. A client
// needs TCP for MOUNT if the server offers MOUNT only over TCP (RFC 8267 section 5.1).
//
//     auto tcp = rpc::TcpRequester::make(context, endpoint);
//     rpc::Client client(*tcp, context.get_executor());
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::rpc {

/// Limits of one connection.
struct TcpRequesterOptions {
  std::uint32_t max_record = (1u << 20) + 65536;  ///< the maximum size of a reply in bytes; no RFC sets this limit
};

/// A requester with one connection and any number of calls in flight. The first call opens the connection. RPC over TCP
/// has no chunks, so no result is reduced: each reply message contains all results of its call. If the connection is
/// lost, its calls fail with TransportError::connection_lost. If the connection cannot be opened, they fail with the
/// error of the socket. The next call opens a new connection. Used on the thread of `context`, which must outlive the
/// requester. The destructor completes the calls with BaseError::cancelled before it returns.
class RPCRDMA_EXPORT TcpRequester : public transport::Requester {
 public:
  /// A requester that is not connected yet.
  static std::unique_ptr<TcpRequester> make(boost::asio::io_context& context,
                                            const boost::asio::ip::tcp::endpoint& server,
                                            TcpRequesterOptions options = {});
};

}  // namespace rpcrdma::rpc
