// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fabric_state.hpp"
#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// An MPA Request that this side has received and must answer with a Reply. The object holds the socket as a plain
/// descriptor, so that the connection can be accepted on an io_context other than the listener's. The destructor
/// rejects the connection if neither take_socket() nor reject() has been called.
class Request final : public ConnectionRequest {
 public:
  Request(Fd socket, StartupFrame frame, ConnectionInfo info)
      : socket_(std::move(socket)), frame_(std::move(frame)), info_(std::move(info)) {}
  ~Request() override { reject({}); }

  const ConnectionInfo& info() const noexcept override { return info_; }
  const StartupFrame& frame() const noexcept { return frame_; }
  /// Passes the socket to the caller, which answers the Request on it.
  Fd take_socket() noexcept { return std::move(socket_); }
  /// Sends a Reply that rejects the connection, and closes the socket. Does nothing after take_socket() or an earlier
  /// reject().
  void reject(Octets private_data) noexcept;

 private:
  Fd socket_;
  StartupFrame frame_;
  ConnectionInfo info_;
};

}  // namespace rpcrdma::fabric::iwarp
