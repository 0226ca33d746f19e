// SPDX-License-Identifier: BSD-3-Clause
// Operation: accepts one connection at a time. At the limit of half-open connections it closes the oldest one.
// Ownership: a connection belongs to its HalfOpen, then to the Request that the handler receives.
// Error handling: a shortage of descriptors or memory is logged, and accepting is retried after a pause.
#include "setup/listener.hpp"

#include <boost/asio/ip/v6_only.hpp>

#include "setup/half_open.hpp"
#include "setup/request.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

constexpr std::chrono::milliseconds kShortagePause{100};

}  // namespace

ListenerState::ListenerState(std::shared_ptr<FabricState> fabric, Fabric::RequestHandler handler)
    : fabric_(std::move(fabric)), handler_(std::move(handler)), acceptor_(fabric_->context), timer_(fabric_->context) {}

error_code ListenerState::open(const Endpoint& local) {
  error_code error;
  acceptor_.open(local.protocol(), error);
  if (!error) acceptor_.set_option(boost::asio::socket_base::reuse_address(true), error);
  if (!error && local.address().is_v6()) acceptor_.set_option(boost::asio::ip::v6_only(true), error);
  if (!error) error = prepare(acceptor_, fabric_->options.keepalive);
  if (!error) acceptor_.bind(local, error);
  if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  return error;
}

void ListenerState::close() noexcept {
  error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
}

Endpoint ListenerState::local() const {
  error_code ignored;
  return acceptor_.local_endpoint(ignored);
}

void ListenerState::accept() {
  if (accepting_ || !acceptor_.is_open()) return;
  accepting_ = true;
  acceptor_.async_accept([self = shared_from_this()](error_code error, Socket socket) {
    self->accepting_ = false;
    if (self->acceptor_.is_open()) self->accepted(error, std::move(socket));
  });
}

void ListenerState::accepted(error_code error, Socket socket) {
  namespace errc = boost::system::errc;
  if (error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
      error == errc::no_buffer_space || error == errc::not_enough_memory)
    return back_off();
  if (!error) socket.non_blocking(true, error);
  if (!error) read_request(std::move(socket));
  accept();
}

void ListenerState::read_request(Socket socket) {
  if (!half_open_.empty() && half_open_.size() >= fabric_->options.max_half_open) {
    if (const auto oldest = half_open_.front().lock()) oldest->give_way();
  }
  const auto arrived = std::make_shared<HalfOpen>(weak_from_this(), std::move(socket));
  arrived->start(fabric_->options.request_timeout, half_open_.insert(half_open_.end(), arrived));
}

void ListenerState::back_off() {
  fabric_->log.limited(fabric_->setup_lines)
      .warn("iwarp: cannot accept a connection: out of file descriptors or memory (ulimit -n); retrying");
  timer_.expires_after(kShortagePause);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->accept();
  });
}

void ListenerState::half_open_ended(HalfOpens::iterator place, Socket socket, ConnectionInfo info,
                                    StartupFrame* request) {
  const auto self = shared_from_this();
  half_open_.erase(place);
  if (request == nullptr) failed_.fetch_add(1, std::memory_order_relaxed);
  error_code error;
  if (request != nullptr && acceptor_.is_open() && info.peer.port() != 0) {
    info.private_data = request->private_data;
    info.peer_reads = peer_reads(*request);
    // [6581-9.1-a] without RFC 6581 the peer does not state depths; the ULPs agree on them
    info.inbound_reads = request->enhanced ? request->enhanced->inbound : fabric_->options.max_read_depth;
    info.outbound_reads = request->enhanced ? request->enhanced->outbound : fabric_->options.max_read_depth;
    Fd descriptor;
    if (!error) descriptor = Fd(socket.release(error));
    if (!error) handler_(std::make_unique<Request>(std::move(descriptor), std::move(*request), std::move(info)));
  } else {
    socket.close(error);
  }
  accept();
}

}  // namespace rpcrdma::fabric::iwarp
