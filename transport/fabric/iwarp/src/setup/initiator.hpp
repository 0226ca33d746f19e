// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "fabric_state.hpp"
#include "setup/arriving_frame.hpp"
#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// Sets up one connection as MPA initiator (RFC 5044 section 7.1.2): TCP connect, Request, Reply. If the peer closes
/// the TCP connection instead of answering an enhanced Request (RFC 6581) and IwarpOptions::fall_back is set, the
/// initiator tries a second time, on a new TCP connection and without RFC 6581.
class Initiator : public std::enable_shared_from_this<Initiator> {
 public:
  struct Outcome {
    error_code error;
    Socket socket;  ///< connected, if there is no error
    Agreement agreement;
    ConnectionInfo info;
  };
  /// Called once, from the io_context, unless cancel() is called first.
  using Handler = UniqueFunction<void(Outcome)>;

  /// `log` has the connection as its subject.
  Initiator(std::shared_ptr<FabricState> fabric, const Endpoint& peer, const QueuePairOptions& options, Log log,
            Handler handler);
  void start();
  void cancel() noexcept;

 private:
  void connect();
  void await_connection();
  void send_request();
  void read_reply();
  void conclude(bool followed);
  void refuse(const TerminateCode& error, const Agreement& agreement);
  void closed_by_peer();
  void finish(error_code error, const Agreement& agreement = {});

  std::shared_ptr<FabricState> fabric_;
  Endpoint peer_;
  QueuePairOptions wanted_;
  Log log_;
  Handler handler_;
  Socket socket_;
  Endpoint local_;
  boost::asio::steady_timer timer_;
  bool enhanced_;
  SetupWishes wishes_;
  StartupFrame request_;
  ArrivingFrame reply_{StartupFrame::Kind::reply};
};

}  // namespace rpcrdma::fabric::iwarp
