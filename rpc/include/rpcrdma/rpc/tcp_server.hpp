// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A TCP front with record marking (RFC 5531 section 11) for the same handlers that serve RDMA.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::rpc {

struct TcpServerOptions {
  std::uint32_t max_record = (1u << 20) + 65536;  ///< octets of a call; a longer one ends its connection
  std::uint32_t max_connections = 1024;           ///< more are closed at once
  std::uint32_t max_calls = 16;                   ///< of one connection being served; further ones wait in its socket
  /// A connection that sends nothing for so long, with no call being served, is closed.
  std::chrono::seconds idle_timeout{360};
};

/// Accepts connections and serves their calls on the thread of `context`. A connection that sends a part of a record
/// and then nothing delays no other.
class TcpServer {
 public:
  /// `pool` is what IncomingCall::pool() gives handlers; pool, handler and context outlive the server.
  static std::unique_ptr<TcpServer> make(boost::asio::io_context& context, memory::Pool& pool,
                                         transport::CallHandler& handler, TcpServerOptions options, Log log);
  /// Ends all connections. Calls being served stay valid and are answered into nothing.
  virtual ~TcpServer() = default;
  /// Where it listens, or why it does not.
  virtual Result<boost::asio::ip::tcp::endpoint> listen(const boost::asio::ip::tcp::endpoint& local) = 0;

  struct Counters {
    std::uint32_t connections = 0;
    std::uint64_t accepted = 0;
    std::uint64_t calls = 0;
  };
  virtual Counters counters() const noexcept = 0;
};

}  // namespace rpcrdma::rpc
