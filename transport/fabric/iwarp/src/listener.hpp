// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "fabric_state.hpp"
#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// Accepts TCP connections and reads their Requests. Kept by its handlers and its IwarpListener.
class ListenerState : public std::enable_shared_from_this<ListenerState> {
 public:
  ListenerState(std::shared_ptr<FabricState> fabric, Fabric::RequestHandler handler);

  error_code open(const Endpoint& local);
  void start() { accept(); }
  void close() noexcept;
  Endpoint local() const;

  // Called by the connections whose Request is being read.
  FabricState& fabric() noexcept { return *fabric_; }
  void half_open_ended(Socket socket, StartupFrame* request);

 private:
  void accept();
  void accepted(error_code error, Socket socket);
  void back_off();

  std::shared_ptr<FabricState> fabric_;
  Fabric::RequestHandler handler_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer timer_;
  std::uint32_t half_open_ = 0;
  bool accepting_ = false;
};

class IwarpListener final : public Listener {
 public:
  explicit IwarpListener(std::shared_ptr<ListenerState> state) : state_(std::move(state)) {}
  ~IwarpListener() override { state_->close(); }
  Endpoint local() const override { return state_->local(); }

 private:
  std::shared_ptr<ListenerState> state_;
};

}  // namespace rpcrdma::fabric::iwarp
