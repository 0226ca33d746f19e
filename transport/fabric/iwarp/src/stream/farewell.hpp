// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <vector>

#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {

/// Closes a connection so that `last_words` still reach the peer: writes them, ends our direction, drops what the
/// peer sends until it ends its own (RFC 5040 section 6.2.1), but for no longer than `timeout`.
///
/// Owns all that it needs and goes on by itself; nothing is reported.
void say_farewell(Socket socket, std::vector<std::byte> last_words, std::chrono::milliseconds timeout);

}  // namespace rpcrdma::fabric::iwarp
