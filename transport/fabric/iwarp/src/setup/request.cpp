// SPDX-License-Identifier: BSD-3-Clause
#include "request.hpp"

#include <sys/socket.h>

namespace rpcrdma::fabric::iwarp {

// [5044-7.1.2-d]
void Request::reject(Octets private_data) noexcept {
  if (!socket_) return;
  const Descriptor socket = take_socket();
  const std::vector<std::byte> reply = encode(make_rejection(frame_, private_data));
  // A few octets on a fresh connection: if they do not go out at once, the peer has gone.
  if (!write_all(socket.get(), reply)) ::shutdown(socket.get(), SHUT_WR);
}

}  // namespace rpcrdma::fabric::iwarp
