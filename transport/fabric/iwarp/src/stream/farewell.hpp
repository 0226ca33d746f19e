// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <vector>

#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// Closes a connection in an orderly way: writes `last_words`, shuts down the sending direction, and discards received
/// bytes until the peer closes (RFC 5040 section 6.2.1) or `timeout` expires.
///
/// Returns at once. Handlers on the io_context own the socket until the end, and report nothing.
void say_farewell(Socket socket, std::vector<std::byte> last_words, std::chrono::milliseconds timeout);

}  // namespace rpcrdma::fabric::iwarp
