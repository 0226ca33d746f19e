// SPDX-License-Identifier: BSD-3-Clause
// Operation: accepts one connection at a time and starts it.
// Ownership: a connection is owned by its coroutines and by connections_, through which stop() reaches it.
// Error handling: a failure to accept, such as a lack of descriptors, is retried after a pause.
#include "proxy.hpp"

namespace rpcrdma::proxy {
namespace {

constexpr std::chrono::milliseconds kPause{100};

}  // namespace

Proxy::Proxy(boost::asio::io_context& context, Tcp::endpoint server, Script script, std::uint64_t seed, Log log)
    : context_(context),
      acceptor_(context),
      pause_(context),
      server_(std::move(server)),
      director_(std::move(script), seed),
      log_(std::move(log)) {}

Result<Tcp::endpoint> Proxy::listen(const Tcp::endpoint& at) {
  error_code failed;
  acceptor_.open(at.protocol(), failed);
  if (!failed) acceptor_.set_option(Tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor_.bind(at, failed);
  if (!failed) acceptor_.listen(boost::asio::socket_base::max_listen_connections, failed);
  const Tcp::endpoint bound = failed ? at : acceptor_.local_endpoint(failed);
  if (failed) return failed;
  accept();
  return bound;
}

void Proxy::accept() {
  if (accepting_ || !acceptor_.is_open() || connections_.size() >= kMaxConnections) return;
  accepting_ = true;
  acceptor_.async_accept([this](error_code failed, Tcp::socket client) {
    accepting_ = false;
    if (!acceptor_.is_open()) return;
    if (!failed) {
      accepted(std::move(client));
      return accept();
    }
    log_.warn("cannot accept a connection: {}; trying again", failed.message());
    pause_.expires_after(kPause);
    pause_.async_wait([this](error_code) { accept(); });
  });
}

void Proxy::accepted(Tcp::socket client) {
  const auto number = static_cast<std::uint32_t>(++counters_.connections);
  auto connection = std::make_shared<Connection>(std::move(client), number, director_, counters_, log_);
  connections_.insert(connection);
  connection->start(server_, [this, which = connection.get()] {
    std::erase_if(connections_, [which](const auto& one) { return one.get() == which; });
    accept();
  });
}

void Proxy::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (const auto& connection : connections_) connection->close(false);
}

}  // namespace rpcrdma::proxy
