// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Serves calls over TCP with record marking (RFC 5531 section 11), through the same CallHandler as calls over RDMA.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/server.hpp"

namespace rpcrdma::rpc {

/// Options of a server. No RFC sets these limits.
struct TcpServerOptions {
  std::uint32_t max_record = (1u << 20) + 65536;  ///< maximum bytes of one call; a longer call ends its connection
  std::uint32_t max_connections = 1024;           ///< further connections are closed at once
  std::uint32_t max_connections_per_peer = 256;   ///< the limit for one peer address, over all its ports
  std::uint32_t max_calls = 16;  ///< calls served at a time per connection; further calls wait in the socket
  /// The server begins to read the next call of a connection only while the calls that it serves for this connection,
  /// and the reply data that these calls have requested, take less than this number of bytes. A call whose reading
  /// began before the limit was reached may come in addition.
  std::size_t max_call_bytes = std::size_t{4} << 20;
  /// The maximum number of bytes of reply data that all connections of one worker may hold at once. A Budget shares
  /// them between peer addresses and between the connections of each address; calls wait for their share. Requests for
  /// up to 4096 bytes are not counted.
  std::size_t bulk_budget = std::size_t{64} << 20;
  /// The maximum number of bytes of calls (records) that all connections of one worker may hold at once. A Budget
  /// shares them in the same way. A value below max_record counts as max_record. A record of more than 4096 bytes is
  /// read completely only when the budget has room for it; shorter records are not counted.
  std::size_t record_budget = std::size_t{64} << 20;
  /// A connection that sends nothing for this time, while none of its calls is being served, is closed.
  std::chrono::seconds idle_timeout{360};
  /// The server closes a connection on which a partly received record or a partly sent reply makes no progress for this
  /// time, because the connection holds memory. The server detects this at the latest after twice this time.
  std::chrono::seconds stall_timeout{60};
  /// Replaces stall_timeout while other connections wait for memory that the connection holds.
  std::chrono::seconds pressed_timeout{5};
  /// If true, a server that listens at [::] accepts only IPv6 clients, so that another server can use the same port for
  /// IPv4. If false, it accepts IPv4 clients as well.
  bool v6_only = false;
};

/// One thread of a server. Only this thread runs `context`. The objects to which the members point must outlive the
/// server. IncomingCall::pool() returns `pool` to the handlers.
struct TcpWorker {
  boost::asio::io_context* context = nullptr;  ///< the event loop of the thread
  memory::Pool* pool = nullptr;                ///< memory for the data of calls
  transport::CallHandler* handler = nullptr;   ///< serves the calls
};

/// Accepts connections on the first worker's thread and assigns them to the workers in turn. A connection that stops
/// within a record, or does not read its replies, delays other connections for at most twice
/// TcpServerOptions::pressed_timeout.
class RPCRDMA_EXPORT TcpServer {
 public:
  /// `workers` must not be empty.
  static std::unique_ptr<TcpServer> make(const std::vector<TcpWorker>& workers, TcpServerOptions options, Log log);
  /// As make() above, with one worker.
  static std::unique_ptr<TcpServer> make(boost::asio::io_context& context, memory::Pool& pool,
                                         transport::CallHandler& handler, TcpServerOptions options, Log log) {
    return make({{&context, &pool, &handler}}, options, std::move(log));
  }
  /// Ends all connections. Calls that are being served stay valid, but their replies are dropped. A server with one
  /// worker may be destroyed on the thread of this worker. Otherwise, destroy the server after close() has completed,
  /// or while no thread of a worker runs.
  virtual ~TcpServer() = default;
  /// Listens at `local`, and returns the endpoint with the actual port. Call it once, on the first worker's thread or
  /// before that thread runs.
  virtual Result<boost::asio::ip::tcp::endpoint> listen(const boost::asio::ip::tcp::endpoint& local) = 0;
  /// Stops listening and reading, waits until `deadline` for the replies to calls being served, and closes the
  /// connections. Then `handler` runs on the first worker's thread. Call it once, on any thread.
  virtual void close(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler) = 0;

  /// Sums over all workers: totals since the start, and the present number of connections.
  struct Counters {
    std::uint32_t connections = 0;  ///< the number of open connections
    std::uint64_t accepted = 0;     ///< connections accepted
    std::uint64_t refused = 0;      ///< connections closed at once: beyond a limit, or while the server stops
    std::uint64_t calls = 0;        ///< calls received
    std::uint64_t failed = 0;       ///< connections that ended before they could be passed to a worker
  };
  /// May be called on any thread.
  virtual Counters counters() const noexcept = 0;
  /// Reports on the connections of worker `index` that have sent the most calls, in descending order of their calls.
  /// The result has at most `most` connections. Must be called on the thread of that worker. In
  /// ConnectionReport::traffic, only the numbers of bytes and calls are set. The number of calls is also the value of
  /// Traffic::inline_calls and Traffic::receives.
  virtual std::vector<transport::ConnectionReport> report(std::size_t index, std::size_t most) const = 0;
};

}  // namespace rpcrdma::rpc
