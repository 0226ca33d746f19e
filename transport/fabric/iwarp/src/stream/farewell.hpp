// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <vector>

#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// Closes a connection in an orderly way. Writes `last_words`, and then shuts down the sending direction. Discards
/// received bytes until the peer closes the connection (RFC 5040 section 6.2.1) or `timeout` expires.
///
/// The function returns at once. Handlers on the io_context own the socket from then on, and close it at the end. They
/// report neither success nor an error.
void say_farewell(Socket socket, std::vector<std::byte> last_words, std::chrono::milliseconds timeout);

}  // namespace rpcrdma::fabric::iwarp
