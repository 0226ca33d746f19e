// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The server side of the transport: listeners, accepted connections, and limits for the connections. The connections
// are distributed over threads.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/connection/traffic.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::transport {

/// The limits of a server, and the parameters of its connections.
struct ServerOptions {
  ConnectionOptions connection;  ///< negotiated with each client
  /// The maximum number of connections, over all peers. At this limit, or at the limit of its peer address, a new
  /// connection replaces a connection that has been idle for `idle_grace`. If there is no such connection, the server
  /// rejects the new connection.
  std::uint32_t max_connections = 1024;
  std::uint32_t max_connections_per_peer = 256;  ///< the limit for one peer address, over all its ports
  /// A connection without a call for this time is idle and may be evicted. Its client reconnects when it has a call. A
  /// connection does not become idle while the program holds a reference to its ReverseRequester and reverse calls are
  /// allowed.
  std::chrono::milliseconds idle_grace{10000};  ///< also the interval at which idle memory of the pool is released
  /// The maximum number of bulk bytes (Read chunks, outgoing data) that all calls of one worker may hold at once. Peer
  /// addresses and their connections share them fairly (rpcrdma/base/budget.hpp). Long calls have a budget of their
  /// own, a quarter as large but at least `max_chunk`.
  std::size_t bulk_budget = std::size_t{64} << 20;
  /// The largest Read chunk or long call that is accepted, in bytes. Also limits a reply in a Reply chunk: such a
  /// reply, not counting its items, may have at most 64 KiB more. No RFC sets this limit.
  std::uint32_t max_chunk = (1u << 20) + 65536;
  /// The number of bytes of a long call that the server pulls before it delivers the call to the handler, at least 8.
  /// The handler pulls the other bytes with IncomingCall::pull_rest(). If a long call has other Read chunks besides its
  /// Position-Zero Read chunk, the server pulls all bytes of the long call before it delivers the call.
  std::uint32_t first_of_long_call = std::numeric_limits<std::uint32_t>::max();
  /// The maximum number of segments in one header. RFC 8267 section 6.4.2 asks for support of 16 segments in each of
  /// four chunks. [8267-6.4.2-a]
  std::uint32_t max_segments = 256;
  /// The server ends a connection if RDMA Reads, RDMA Writes or Sends to the peer are outstanding, and none of them has
  /// completed for this time. Until then, such a connection may hold a part of the bulk budget.
  std::chrono::milliseconds progress_timeout{15000};
  /// The time limit that applies in place of progress_timeout, if it is shorter, while the connection holds bytes of a
  /// budget and another connection waits for bytes of this budget.
  std::chrono::milliseconds pressed_timeout{2000};
};

/// The share of the server that one thread runs. This thread runs the io_context of `fabric`. The fabric, the pool and
/// the handler must outlive the Server. The receives of the worker's connections may use about an eighth of the pool.
/// When little of this part is left, a client may be granted fewer credits than it requests.
struct Worker {
  fabric::Fabric* fabric = nullptr;  ///< its io_context is the worker's event loop
  memory::Pool* pool = nullptr;      ///< a pool of that fabric
  CallHandler* handler = nullptr;    ///< serves the calls
};

/// The calls of one procedure.
struct ProcedureCalls {
  ProcedureName procedure;  ///< the procedure
  std::uint64_t calls = 0;  ///< calls whose arguments were decoded
};

/// The present state of one connection of a server.
struct ConnectionReport {
  std::uint64_t number = 0;                ///< the number in log lines; unique in the process
  fabric::Endpoint peer;                   ///< the client's address
  std::string_view fabric;                 ///< the name of the provider
  std::chrono::milliseconds age{0};        ///< the time since the connection was accepted
  std::uint32_t version = 1;               ///< the version of RPC-over-RDMA
  std::uint32_t inline_send = 0;           ///< the longest message that the server may Send, in bytes
  std::uint32_t inline_receive = 0;        ///< the longest message that the client may Send, in bytes
  bool remote_invalidation = false;        ///< replies may use Send with Invalidate
  ConnectionStatistics statistics;         ///< calls, credits, bulk memory, characteristics
  Traffic traffic;                         ///< the counters since the connection was accepted
  std::vector<ProcedureCalls> procedures;  ///< one entry for each procedure called, in descending order of `calls`
};

/// What one listener has done since it was made. Each request for a connection counts as accepted, refused or failed.
struct ListenerCounters {
  fabric::Endpoint endpoint;      ///< where it listens, with the port in use
  std::uint32_t connections = 0;  ///< open now, or being set up
  std::uint64_t accepted = 0;     ///< connections made
  std::uint64_t refused = 0;      ///< requests refused at a limit, or because the server shuts down
  std::uint64_t failed = 0;       ///< requests that failed during set-up, as far as the provider sees them
};

/// What one worker of a server has done.
struct WorkerReport {
  Traffic traffic;  ///< the sum over all connections since the start, including those that have ended
  /// The parts of `traffic` that belong to each listener, in the order of Server::listeners(). If this vector is
  /// shorter than listeners(), the listeners beyond its end have had no traffic on this worker.
  std::vector<Traffic> by_listener;
  std::size_t connections = 0;            ///< connections that are open or being set up
  std::vector<ConnectionReport> busiest;  ///< the connections that have sent the most calls, in descending order
};

/// Accepts connections from clients, and passes their calls to the handlers of the workers. A Server may be made, used
/// and destroyed while the threads of the workers run, or before they start. Any thread may call the functions of a
/// Server, except report().
class RPCRDMA_EXPORT Server {
 public:
  /// `workers` must not be empty. The listeners belong to the first worker; connections are assigned to all workers
  /// round-robin.
  static std::unique_ptr<Server> make(const std::vector<Worker>& workers, ServerOptions options, Log log);
  /// Destroy the server only after close() has completed, or when no worker thread runs any more.
  virtual ~Server() = default;

  /// Starts to listen; `handler` runs on the first worker's thread with the address, or the error.
  virtual void listen(const fabric::Endpoint& local, UniqueFunction<void(Result<fabric::Endpoint>)> handler) = 0;
  /// Stops listening, waits until `deadline` for calls in progress, then ends the connections. `handler` runs on the
  /// first worker's thread. To be called once.
  virtual void close(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler) = 0;

  /// Sums over all workers and listeners. `connections`, `bulk_in_use` and `receive_octets` are current values. The
  /// other members are totals since the start.
  struct Counters {
    std::uint32_t connections = 0;       ///< connections that are open or being set up
    std::uint64_t accepted = 0;          ///< connections accepted
    std::uint64_t refused = 0;           ///< connections refused at a limit, or while the server shuts down
    std::uint64_t calls = 0;             ///< calls received
    std::uint64_t errors_sent = 0;       ///< RDMA_ERROR messages sent
    std::uint64_t discarded = 0;         ///< messages dropped without an answer
    std::uint64_t invalidated = 0;       ///< replies sent by Send with Invalidate
    std::size_t bulk_in_use = 0;         ///< bytes that calls hold of the budgets for bulk data and long calls
    std::size_t receive_octets = 0;      ///< bytes registered for the receives of connections
    std::uint64_t receives_raised = 0;   ///< times that a connection has raised the size of its receives
    std::uint64_t receives_lowered = 0;  ///< times that a connection has lowered the size of its receives
  };
  /// May be called on any thread.
  virtual Counters counters() const noexcept = 0;
  /// The listeners in the order in which they have begun to listen, closed ones included. May be called on any thread.
  virtual std::vector<ListenerCounters> listeners() const = 0;
  /// Returns the report of worker `index`, in which WorkerReport::busiest has at most `most_connections` connections.
  /// To be called on the thread of that worker.
  virtual WorkerReport report(std::size_t index, std::size_t most_connections) const = 0;
};

}  // namespace rpcrdma::transport
