// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>

#include "requester_core.hpp"
#include "rpcrdma/base/backoff.hpp"
#include "rpcrdma/requester/client.hpp"

namespace rpcrdma::transport {

/// The implementation of a Client. The destructor of the Client calls end(), and posts the deletion of this object to
/// the io_context, because a callback of this object may destroy the Client.
class ClientImpl final : private ConnectionEvents, public CharacteristicsExchange {
 public:
  ClientImpl(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server, const ClientOptions& options,
             Log log);

  /// Ends the connection and all calls. No handler runs afterwards.
  void end() noexcept;
  boost::asio::io_context& context() noexcept { return setup_.fabric->context(); }

  // As in Client:
  Requester& requester() noexcept { return core_; }
  void close(UniqueFunction<void()> handler);
  error_code last_error() const noexcept { return last_error_; }
  bool connected() const noexcept { return state_ == State::connected; }
  bool connecting() const noexcept { return state_ == State::connecting; }
  void connect_now();
  void set_call_sink(CallSink* sink) noexcept;
  Characteristics characteristics() const noexcept override;

 private:
  /// The state of the connection to the server. `idle`: there is no connection, and no call waits for one.
  /// `connecting`: an attempt to connect is in progress. `waiting`: the next attempt, if still wanted, begins when the
  /// backoff ends.
  enum class State { idle, connecting, connected, waiting };

  static RequesterSetup requester_setup(fabric::Fabric& fabric, const ClientOptions& options, const Log& log);
  void want_connection();
  bool wants_connection() const noexcept;
  void choose_version() noexcept;
  void connect();
  void wait_and_connect();
  void close_if_idle() noexcept;

  void request(const CharacteristicChange& wanted, Handler handler) override;
  void change(const CharacteristicChange& wanted, Handler handler) override;
  boost::asio::io_context& executor_context() noexcept override { return context(); }

  std::uint32_t granted_credits() const noexcept override { return std::max(setup_.options.reverse_credits, 1u); }
  BackwardSupport backward_support() const noexcept override;
  void on_connected() noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_call(Received& message) noexcept override;
  void on_reply(Received& message) noexcept override;
  void on_peer_error(Received& message) noexcept override;
  void on_bad_message(wire::WireError error, Received& message) noexcept override;
  void on_batch_end() noexcept override;

  fabric::Endpoint server_;
  Log log_;  // about this server
  PeerLogLimits log_limits_;
  ConnectionSetup setup_;
  State state_ = State::idle;
  RequesterCore core_;
  Backoff backoff_;
  boost::asio::steady_timer timer_;
  WeakGuard<ClientImpl> guard_{*this};
  ConnectionPtr connection_;
  CallSink* call_sink_ = nullptr;
  UniqueFunction<void()> close_handler_;
  const VersionChoice version_;
  const std::chrono::seconds version_memory_;
  std::chrono::steady_clock::time_point offer_after_{};  // version two is not offered before this time
  error_code last_error_;
  bool was_connected_ = false;
};

}  // namespace rpcrdma::transport
