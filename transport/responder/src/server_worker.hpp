// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "listener_counts.hpp"
#include "rpcrdma/responder/server.hpp"
#include "server_connection.hpp"
#include "service.hpp"

namespace rpcrdma::transport {

/// One thread's share of a server. Used on that thread, except for the constructor, context() and the counters, which
/// may be used on any thread.
class ServerWorker final : public std::enable_shared_from_this<ServerWorker> {
 public:
  /// The worker calls `left` on its own thread, with the address of the client, when a connection that take() received
  /// has ended, or has not been accepted.
  ServerWorker(const Worker& worker, const ServerOptions& options, FaultyCalls& faulty_calls, Log log,
               UniqueFunction<void(const boost::asio::ip::address&)> left);
  ~ServerWorker();

  boost::asio::io_context& context() const noexcept { return worker_.fabric->context(); }
  fabric::Fabric& fabric() const noexcept { return *worker_.fabric; }

  /// Accepts a connection request that the server has admitted within its limits. Rejects the request if drain() or
  /// destroy() has been called. Adds the outcome to the counters of the listener.
  void take(Arrival arrival);
  /// Evicts the connection that has been idle for the longest time. If `peer` is given, considers only the connections
  /// of this address. Evicts nothing and returns false if no connection has been idle for ServerOptions::idle_grace.
  bool give_way(const std::optional<boost::asio::ip::address>& peer);
  /// Closes each connection when its last call is over. At `deadline`, aborts the connections that remain. `done` runs
  /// when no connection and no call is left.
  void drain(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> done);
  /// Ends all connections at once. The handler of drain() does not run afterwards. Calls that the CallHandler holds
  /// stay until it ends them; the handlers of their unfinished operations run later, with an error.
  void destroy() noexcept;

  void connection_over(ServerConnection& connection);
  /// Adds `change` to the number of bytes registered for receives, modulo 2^64, so that the sum can decrease.
  void add_receive_octets(std::size_t change) noexcept { receive_octets_.fetch_add(change, std::memory_order_relaxed); }

  WorkerReport report(std::size_t most_connections) const;
  const Service::Counters& counters() const noexcept { return service_.counters; }
  std::size_t receive_octets() const noexcept { return receive_octets_.load(std::memory_order_relaxed); }
  std::uint32_t connections() const noexcept { return connection_count_.load(std::memory_order_relaxed); }

 private:
  void check_drained();
  void watch();
  void watch_closely();
  void trim(std::chrono::steady_clock::time_point now) noexcept;
  void lower_receives();
  void close_idle();

  Worker worker_;
  ServerOptions options_;
  Log log_;
  UniqueFunction<void(const boost::asio::ip::address&)> left_;
  PeerLogLimits log_limits_;  // outlives the connections, which use it
  // Must outlive service_ and its calls. A call keeps its Connection alive, and a Connection that is destroyed gives
  // the memory of its receives back to the budget.
  ReceiveBudget receive_budget_;
  Service service_;
  std::vector<std::unique_ptr<ServerConnection>> connections_;
  // Connections that are over. A posted handler destroys them, because one of their callbacks may still be running.
  std::vector<std::unique_ptr<ServerConnection>> ended_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer watch_;
  bool watching_ = false;
  bool watching_closely_ = false;
  std::chrono::steady_clock::time_point next_trim_;
  UniqueFunction<void()> drained_;
  bool draining_ = false;
  bool destroyed_ = false;
  std::vector<Traffic> ended_traffic_;  // the sums over connections that have ended, by listener
  std::atomic<std::size_t> receive_octets_{0};
  std::atomic<std::uint32_t> connection_count_{0};
};

}  // namespace rpcrdma::transport
