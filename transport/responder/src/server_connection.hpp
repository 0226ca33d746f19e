// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "listener_counts.hpp"
#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/responder/server.hpp"
#include "serving_link.hpp"

namespace rpcrdma::transport {

class ServerWorker;

/// An accepted connection.
class ServerConnection final : private ConnectionEvents {
 public:
  ServerConnection(ServerWorker& worker, Service& service, const ConnectionOptions& options,
                   const boost::asio::ip::address& peer, std::shared_ptr<ListenerCounts> listener);
  ~ServerConnection();

  error_code accept(const ConnectionSetup& setup, std::unique_ptr<fabric::ConnectionRequest> request);
  const boost::asio::ip::address& peer() const noexcept { return peer_; }
  std::size_t receive_octets() const noexcept { return connection_ ? connection_->receive_octets() : 0; }
  /// Reports to the worker how the number of bytes registered for receives has changed. The number is 0 when the
  /// connection is over.
  void note_receives() noexcept;
  /// The state and the counters of the connection, for Server::report().
  ConnectionReport report(std::chrono::steady_clock::time_point now) const;
  Traffic traffic() const noexcept { return connection_ ? connection_->traffic() : Traffic{}; }
  /// The index of the listener that accepted the connection (ListenerCounts::index).
  std::size_t listener() const noexcept { return listener_->index; }
  std::uint64_t calls_taken() const noexcept { return link_.calls_taken(); }
  bool idle() const noexcept { return link_.calls() == 0; }
  /// The time at which watch() last found the connection active.
  std::chrono::steady_clock::time_point active_at() const noexcept { return active_at_; }
  bool ending() const noexcept { return ending_; }
  LogAbout end_log() const noexcept { return connection_->end_log(); }
  /// Lets the connection accept no more calls, and closes it when the last call is over.
  void drain() noexcept;
  void abort(error_code why) noexcept;
  /// may_offer_smaller_receives() and offer_smaller_receives() do the same as the functions of these names in
  /// Connection.
  bool may_offer_smaller_receives() const noexcept { return connection_->may_offer_smaller_receives(); }
  void offer_smaller_receives() noexcept { connection_->offer_smaller_receives(); }
  /// To be called periodically. Notes the connection as active if calls are in progress or have arrived, or if reverse
  /// calls are possible. Aborts the connection if its send queue has outstanding work requests and none of them
  /// completes within the time that `options` allow.
  void watch(std::chrono::steady_clock::time_point now, const ServerOptions& options) noexcept;

 private:
  std::chrono::milliseconds progress_limit(const ServerOptions& options) const noexcept;
  void on_connected() noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_call(Received& message) noexcept override;
  void on_reply(Received& message) noexcept override;
  void on_peer_error(Received& message) noexcept override;
  void on_bad_message(wire::WireError error, Received& message) noexcept override;
  void on_batch_end() noexcept override;
  std::uint32_t granted_credits() const noexcept override { return link_.grant(); }
  BackwardSupport backward_support() const noexcept override {
    return reverse_ ? BackwardSupport::general : BackwardSupport::none;
  }
  void on_receive_size(std::uint32_t from, std::uint32_t to) noexcept override;

  ServerWorker& worker_;
  ServingLink link_;
  ConnectionPtr connection_;
  boost::asio::ip::address peer_;
  const std::shared_ptr<ListenerCounts> listener_;
  bool made_ = false;             // the handshake has succeeded
  const bool reverse_;            // the options permit calls in the reverse direction
  std::size_t noted_octets_ = 0;  // bytes of this connection's receives that are in the worker's sum
  bool over_ = false;
  bool draining_ = false;
  bool ending_ = false;
  const std::chrono::steady_clock::time_point accepted_at_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point active_at_ = std::chrono::steady_clock::now();
  std::uint64_t calls_taken_ = 0;  // link_.calls_taken() at the last watch() that found no call in progress
  std::uint64_t completed_ = 0;    // work requests completed when watch() last ran
  std::chrono::steady_clock::time_point stuck_since_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace rpcrdma::transport
