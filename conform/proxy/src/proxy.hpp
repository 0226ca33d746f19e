// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <set>

#include "connection.hpp"

namespace rpcrdma::proxy {

/// Listens, and relays each connection to the server. Used by the one thread that runs the io_context.
class Proxy {
 public:
  Proxy(boost::asio::io_context& context, Tcp::endpoint server, Script script, std::uint64_t seed, Log log);

  /// Starts to listen at `at`. Returns the address in use: if the port of `at` is 0, the system has chosen a port.
  Result<Tcp::endpoint> listen(const Tcp::endpoint& at);
  /// Stops listening, and ends all connections; the io_context then runs out of work.
  void stop();
  const Counters& counters() const noexcept { return counters_; }

 private:
  /// The maximum number of connections at a time; further connections wait. Each connection has buffers of about
  /// 0.5 MiB.
  static constexpr std::size_t kMaxConnections = 256;

  void accept();
  void accepted(Tcp::socket client);

  boost::asio::io_context& context_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  Tcp::endpoint server_;
  Director director_;
  Counters counters_;
  Log log_;
  std::set<std::shared_ptr<Connection>> connections_;
  bool accepting_ = false;
};

}  // namespace rpcrdma::proxy
