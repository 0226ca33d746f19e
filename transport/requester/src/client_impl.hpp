// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>

#include "core.hpp"
#include "rpcrdma/connection/backoff.hpp"
#include "rpcrdma/requester/client.hpp"

namespace rpcrdma::transport {

class ClientImpl final : public Client, private ConnectionEvents {
 public:
  ClientImpl(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server, const ClientOptions& options,
             Log log);
  ~ClientImpl() override;

  Requester& requester() noexcept override { return *core_; }
  void close(UniqueFunction<void()> handler) override;
  error_code last_error() const noexcept override { return last_error_; }
  bool connected() const noexcept override { return state_ == State::connected; }
  void set_call_sink(CallSink* sink) noexcept override;

 private:
  /// idle: no calls wait; connecting, connected: there is a connection; waiting: for the backoff to end.
  enum class State { idle, connecting, connected, waiting };

  static RequesterSetup requester_setup(fabric::Fabric& fabric, const ClientOptions& options, const Log& log);
  void want_connection();
  bool wants_connection() const noexcept;
  void connect();
  void wait_and_connect();
  void close_if_idle() noexcept;

  void on_connected() noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_call(Received& message) noexcept override;
  void on_reply(Received& message) noexcept override;
  void on_peer_error(Received& message) noexcept override;
  void on_bad_message(wire::WireError error, Received& message) noexcept override;
  void on_batch_end() noexcept override;

  fabric::Endpoint server_;
  Log log_;
  ConnectionSetup setup_;
  State state_ = State::idle;
  std::unique_ptr<RequesterCore> core_;
  Backoff backoff_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<ClientImpl*> self_;  // what posted functions look at: null once this is destroyed
  ConnectionPtr connection_;
  CallSink* call_sink_ = nullptr;
  UniqueFunction<void()> close_handler_;
  error_code last_error_;
  bool was_connected_ = false;
};

}  // namespace rpcrdma::transport
