// SPDX-License-Identifier: BSD-3-Clause
#include "setup/request.hpp"

#include <sys/socket.h>

namespace rpcrdma::fabric::iwarp {

// [5044-7.1.2-d] sends a Reply with R=1
void Request::reject(Octets private_data) noexcept {
  if (!socket_) return;
  const Fd socket = take_socket();
  const std::vector<std::byte> reply = encode(make_rejection(frame_, private_data));
  // The socket buffer of a new connection has room for the Reply; the write fails only if the connection
  // has already failed.
  if (!write_all(socket.get(), reply)) ::shutdown(socket.get(), SHUT_WR);
}

}  // namespace rpcrdma::fabric::iwarp
