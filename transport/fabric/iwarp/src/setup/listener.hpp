// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>

#include "fabric_state.hpp"
#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

class HalfOpen;

/// Accepts TCP connections and reads their Requests. Kept alive by its handlers and its IwarpListener.
class ListenerState : public std::enable_shared_from_this<ListenerState> {
 public:
  /// The connections whose Request is incomplete, the oldest first.
  using HalfOpens = std::list<std::weak_ptr<HalfOpen>>;

  ListenerState(std::shared_ptr<FabricState> fabric, Fabric::RequestHandler handler);

  error_code open(const Endpoint& local);
  void start() { accept(); }
  void close() noexcept;
  Endpoint local() const;
  std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

  // Called by HalfOpen.
  FabricState& fabric() noexcept { return *fabric_; }
  void half_open_ended(HalfOpens::iterator place, Socket socket, ConnectionInfo info, StartupFrame* request);

 private:
  void accept();
  void accepted(error_code error, Socket socket);
  void read_request(Socket socket);
  void back_off();

  std::shared_ptr<FabricState> fabric_;
  Fabric::RequestHandler handler_;
  Acceptor acceptor_;
  boost::asio::steady_timer timer_;
  HalfOpens half_open_;
  bool accepting_ = false;
  std::atomic<std::uint64_t> failed_{0};  // connections without a complete and valid Request
};

class IwarpListener final : public Listener {
 public:
  explicit IwarpListener(std::shared_ptr<ListenerState> state) : state_(std::move(state)) {}
  ~IwarpListener() override { state_->close(); }
  Endpoint local() const override { return state_->local(); }
  std::uint64_t failed_handshakes() const noexcept override { return state_->failed(); }

 private:
  std::shared_ptr<ListenerState> state_;
};

}  // namespace rpcrdma::fabric::iwarp
