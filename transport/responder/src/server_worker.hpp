// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "rpcrdma/responder/server.hpp"
#include "server_connection.hpp"
#include "service.hpp"

namespace rpcrdma::transport {

/// One thread's share of a server. Lives on its worker's thread; only make and the counters are for any.
class ServerWorker final : public std::enable_shared_from_this<ServerWorker> {
 public:
  /// `left` is told, on this worker's thread, when a connection that was taken has ended.
  ServerWorker(const Worker& worker, const ServerOptions& options, Suspects& suspects, Log log,
               UniqueFunction<void(const boost::asio::ip::address&)> left);
  ~ServerWorker();

  boost::asio::io_context& context() const noexcept { return worker_.fabric->context(); }
  fabric::Fabric& fabric() const noexcept { return *worker_.fabric; }

  /// Accepts `request`; it has been admitted.
  void take(std::unique_ptr<fabric::ConnectionRequest> request);
  /// Ends the connection that has been idle longest, of `peer` if one is named. False if none has been for long.
  bool give_way(const std::optional<boost::asio::ip::address>& peer);
  /// Ends connections as they fall idle, all of them at `deadline`. `done` runs when no connection and no call
  /// is left.
  void drain(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> done);
  /// Ends everything at once. From here on nothing happens any more.
  void destroy() noexcept;

  void connection_over(ServerConnection& connection);
  void note_receives() noexcept;

  const Service::Counters& counters() const noexcept { return service_.counters; }
  std::size_t receive_octets() const noexcept { return receive_octets_.load(std::memory_order_relaxed); }
  std::uint32_t connections() const noexcept { return connection_count_.load(std::memory_order_relaxed); }

 private:
  void check_drained();
  void watch();
  void watch_closely();
  void close_idle();

  Worker worker_;
  ServerOptions options_;
  Log log_;
  UniqueFunction<void(const boost::asio::ip::address&)> left_;
  ReceiveBudget receive_budget_;  // outlives the calls, which keep their connections
  Service service_;
  std::vector<std::unique_ptr<ServerConnection>> connections_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer watch_;
  bool watching_ = false;
  bool watching_closely_ = false;
  UniqueFunction<void()> drained_;
  bool draining_ = false;
  bool destroyed_ = false;
  std::atomic<std::size_t> receive_octets_{0};
  std::atomic<std::uint32_t> connection_count_{0};
};

}  // namespace rpcrdma::transport
