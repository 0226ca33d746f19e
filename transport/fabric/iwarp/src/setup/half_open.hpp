// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "setup/arriving_frame.hpp"
#include "setup/listener.hpp"

namespace rpcrdma::fabric::iwarp {

/// An accepted TCP connection whose MPA Request is incomplete (RFC 5044 section 7.1.2, responder).
class HalfOpen : public std::enable_shared_from_this<HalfOpen> {
 public:
  HalfOpen(std::weak_ptr<ListenerState> listener, Socket socket)
      : listener_(std::move(listener)), socket_(std::move(socket)), timer_(socket_.get_executor()) {
    error_code ignored;
    info_.number = next_connection_number();
    info_.fabric = "iwarp";
    info_.local = socket_.local_endpoint(ignored);
    info_.peer = socket_.remote_endpoint(ignored);
  }
  /// `place` is the entry of this object in the listener's list.
  void start(std::chrono::milliseconds timeout, ListenerState::HalfOpens::iterator place);
  /// Closes this connection, the oldest half-open connection, to make room for a new connection.
  void give_way() { finish(false, "too many connections with incomplete requests"); }

 private:
  void read();
  void received(error_code error, std::size_t count);
  void finish(bool good, const char* why);

  std::weak_ptr<ListenerState> listener_;
  ConnectionInfo info_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  ListenerState::HalfOpens::iterator place_;
  bool finished_ = false;
  ArrivingFrame request_{StartupFrame::Kind::request};
};

}  // namespace rpcrdma::fabric::iwarp
