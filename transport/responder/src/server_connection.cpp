// SPDX-License-Identifier: BSD-3-Clause
// Operation. An accepted connection passes calls to its serving link, and replies and RDMA_ERRORs to its reverse
// requester. Replies and RDMA_ERRORs that match no reverse call are dropped. Exception: in version one, an RDMA_NOMSG
// that matches none is treated as a malformed call.
// Ownership. A connection belongs to its worker, which destroys it from the io_context after connection_over().
// Errors. When an accepted connection ends, connection_over() runs once, unless the connection is destroyed first.
#include "server_connection.hpp"

#include <utility>

#include "server_worker.hpp"

namespace rpcrdma::transport {

ServerConnection::ServerConnection(ServerWorker& worker, Service& service, const ConnectionOptions& options,
                                   const boost::asio::ip::address& peer, std::shared_ptr<ListenerCounts> listener)
    : worker_(worker),
      link_(service, options.credits, options.reverse_credits, peer),
      peer_(peer),
      listener_(std::move(listener)),
      reverse_(options.reverse_credits != 0) {}

ServerConnection::~ServerConnection() {
  if (connection_) connection_->destroy();
}

error_code ServerConnection::accept(const ConnectionSetup& setup, std::unique_ptr<fabric::ConnectionRequest> request) {
  auto connection = Connection::accept(setup, std::move(request), *this);
  if (!connection) return connection.error();
  connection_ = std::move(*connection);
  link_.open(*connection_);
  return {};
}

void ServerConnection::drain() noexcept {
  draining_ = true;
  link_.drain();
  if (idle()) connection_->close();
}

void ServerConnection::abort(error_code why) noexcept {
  ending_ = true;
  connection_->abort(why);
}

void ServerConnection::watch(std::chrono::steady_clock::time_point now, const ServerOptions& options) noexcept {
  // [8167-5.4-a] a connection on which reverse calls may be made is never idle
  if (!idle() || std::exchange(calls_taken_, link_.calls_taken()) != link_.calls_taken() || link_.may_call_back())
    active_at_ = now;
  const Connection::Progress& progress = connection_->progress();
  if (progress.posted == progress.completed) {
    stuck_since_ = std::chrono::steady_clock::time_point::max();
  } else if (stuck_since_ == std::chrono::steady_clock::time_point::max() || progress.completed != completed_) {
    stuck_since_ = now;
  } else if (!ending_ && now - stuck_since_ >= progress_limit(options)) {
    connection_->end_log().info(
        "connection closed: no RDMA Read, Write or Send to the peer has completed for {} ms{}",
        std::chrono::duration_cast<std::chrono::milliseconds>(now - stuck_since_).count(),
        link_.is_awaited() ? ", and other connections wait for the memory that this connection holds" : "");
    abort(BaseError::deadline_exceeded);
  }
  completed_ = progress.completed;
}

std::chrono::milliseconds ServerConnection::progress_limit(const ServerOptions& options) const noexcept {
  return link_.is_awaited() ? std::min(options.pressed_timeout, options.progress_timeout) : options.progress_timeout;
}

ConnectionReport ServerConnection::report(std::chrono::steady_clock::time_point now) const {
  ConnectionReport out;
  out.number = connection_->number();
  out.peer = connection_->info().peer;
  out.fabric = connection_->fabric().capabilities().name;
  out.age = std::chrono::duration_cast<std::chrono::milliseconds>(now - accepted_at_);
  out.version = connection_->version();
  out.inline_send = connection_->thresholds().send;
  out.inline_receive = connection_->thresholds().receive;
  out.remote_invalidation = connection_->thresholds().remote_invalidation;
  out.statistics = link_.statistics();
  out.traffic = connection_->traffic();
  out.procedures = link_.procedures();
  return out;
}

void ServerConnection::on_connected() noexcept {
  made_ = true;
  listener_->accepted.fetch_add(1, std::memory_order_relaxed);
  connection_->log().debug(
      "connection accepted: send threshold {} bytes, receive threshold {} bytes, remote invalidation {}",
      connection_->thresholds().send, connection_->thresholds().receive, connection_->thresholds().remote_invalidation);
}

void ServerConnection::on_disconnected(error_code why) noexcept {
  connection_->log_end(why);
  if (!made_) listener_->failed.fetch_add(1, std::memory_order_relaxed);
  listener_->connections.fetch_sub(1, std::memory_order_relaxed);
  link_.lost(why);
  over_ = true;
  note_receives();
  worker_.connection_over(*this);
}

void ServerConnection::on_call(Received& message) noexcept { link_.on_call(message); }

// This server answers neither an RDMA_ERROR [8166-4.2.4-d] nor a reply. The exception is an RDMA_NOMSG of version one
// that matches no reverse call: on_reply() treats this message as a malformed call.
void ServerConnection::on_reply(Received& message) noexcept {
  ReverseRequester* reverse = link_.existing_reverse();
  if (reverse != nullptr && reverse->expects(message.header.xid)) return reverse->on_reply(message);
  // In version one, an RDMA_NOMSG that matches no reverse call is malformed: it lacks the Position-Zero Read chunk of a
  // call [8166-4.2.4-a]. In version two the header says that it is a reply [v2-4.2.2-a].
  if (message.header.procedure == wire::Procedure::nomsg && message.header.version < wire::kVersionTwo)
    link_.on_bad_message(wire::WireError::bad_chunks, message);
  else
    link_.discard(message.header.xid, "a reply to no call of this server");
}

void ServerConnection::on_peer_error(Received& message) noexcept {
  ReverseRequester* reverse = link_.existing_reverse();
  if (reverse != nullptr && reverse->expects(message.header.xid)) return reverse->on_peer_error(message);
  link_.discard(message.header.xid, "an RDMA_ERROR for no call of this server");
}

void ServerConnection::on_bad_message(wire::WireError error, Received& message) noexcept {
  // [8166-4.5-c] The message may be a reply to a reverse call, and this side must not answer a reply. If the client has
  // a call of its own with the same XID, the client would mistake an answer for the reply to its own call.
  const ReverseRequester* reverse = link_.existing_reverse();
  if (reverse != nullptr && reverse->expects(message.header.xid))
    return link_.discard(message.header.xid, "a reply to a reverse call, with a header that cannot be read");
  link_.on_bad_message(error, message);
}

void ServerConnection::on_receive_size(std::uint32_t from, std::uint32_t to) noexcept {
  Service& service = link_.service();
  service.count(to > from ? service.counters.receives_raised : service.counters.receives_lowered);
}

void ServerConnection::note_receives() noexcept {
  const std::size_t now = over_ ? 0 : receive_octets();
  if (now != noted_octets_) worker_.add_receive_octets(now - std::exchange(noted_octets_, now));
}

void ServerConnection::on_batch_end() noexcept {
  note_receives();
  if (link_.existing_reverse() != nullptr) link_.existing_reverse()->on_batch_end();
  if (draining_ && idle()) connection_->close();
}

}  // namespace rpcrdma::transport
