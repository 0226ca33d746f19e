// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// RPC calls over TCP with record marking (RFC 5531 section 11), behind the same interface as over RDMA: what a client
// needs for MOUNT where it is served over TCP only (RFC 8267 section 5.1).
//
//     auto tcp = rpc::TcpRequester::make(context, endpoint);
//     rpc::Client client(*tcp, context.get_executor());
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>

#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::rpc {

struct TcpRequesterOptions {
  std::uint32_t max_record = (1u << 20) + 65536;  ///< octets of a reply; prudence
};

/// One connection, made at the first call, with any number of calls in flight. Nothing is reduced: results come in
/// the message. A lost connection ends the calls on it (TransportError::connection_lost, or what the socket said);
/// the next call connects anew. On the thread of `context`, which outlives it. Destroying it completes its
/// calls with BaseError::cancelled before the destructor returns.
class TcpRequester : public transport::Requester {
 public:
  static std::unique_ptr<TcpRequester> make(boost::asio::io_context& context,
                                            const boost::asio::ip::tcp::endpoint& server,
                                            TcpRequesterOptions options = {});
};

}  // namespace rpcrdma::rpc
