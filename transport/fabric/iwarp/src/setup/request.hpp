// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fabric_state.hpp"
#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// A Request that waits for its Reply. Holds a bare descriptor, so that it can move to another io_context. The
/// destructor rejects the connection if the Request has not been answered.
class Request final : public ConnectionRequest {
 public:
  Request(Fd socket, StartupFrame frame, ConnectionInfo info)
      : socket_(std::move(socket)), frame_(std::move(frame)), info_(std::move(info)) {}
  ~Request() override { reject({}); }

  const ConnectionInfo& info() const noexcept override { return info_; }
  const StartupFrame& frame() const noexcept { return frame_; }
  /// Passes the socket to the caller, which answers the Request on it.
  Fd take_socket() noexcept { return std::move(socket_); }
  /// Sends a Reply that rejects the connection, and closes the socket, unless take_socket() was called.
  void reject(Octets private_data) noexcept;

 private:
  Fd socket_;
  StartupFrame frame_;
  ConnectionInfo info_;
};

}  // namespace rpcrdma::fabric::iwarp
