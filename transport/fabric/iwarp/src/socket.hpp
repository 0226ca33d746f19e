// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/uio.h>

#include <boost/asio/ip/tcp.hpp>
#include <chrono>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::fabric::iwarp {

using Socket = boost::asio::ip::tcp::socket;
using Acceptor = boost::asio::ip::tcp::acceptor;

/// Configures an acceptor: no Nagle delay, non-blocking, keepalive. An accepted connection inherits these options,
/// except that it is blocking.
error_code prepare(Acceptor& acceptor, std::chrono::seconds keepalive) noexcept;
/// [5044-7.1.2-m] Makes TCP detect that the peer's host is down, even while data is unacknowledged. The detection takes
/// about twice the time `after`, but at least 6 s more than `after`. The function clamps `after` to the range
/// from 1 s to 10,000 s.
void keep_alive(int socket, std::chrono::seconds after) noexcept;
/// Limits the send buffer to twice `bytes`, in which the kernel also counts its own use; `bytes` counts as
/// net.core.wmem_max at most. Without a limit the buffer grows to several MiB, as net.ipv4.tcp_wmem allows.
void limit_send_buffer(Socket& socket, int bytes) noexcept;
/// Writes once, without blocking. Returns the number of bytes written. On failure, returns 0 and sets `error`:
/// would_block means that the send buffer is full.
std::size_t write_some(int socket, std::span<iovec> vectors, error_code& error) noexcept;
/// Writes a few bytes to a new connection, without blocking. Fails if the socket does not take all of them at once.
error_code write_all(int socket, Octets octets) noexcept;
/// Whether close() ends the connection in an orderly way: the peer's host has acknowledged all that was sent, and
/// every received byte has been read (an unread byte would make close() send a reset).
bool is_quiet(Socket& socket) noexcept;
/// Closes the connection with a TCP reset.
void reset(Socket& socket) noexcept;
/// Returns the pending error of the socket (SO_ERROR), and clears it.
error_code take_error(Socket& socket) noexcept;
/// The present TCP segment size of the path; 0 if unknown.
std::uint32_t segment_size(Socket& socket) noexcept;
/// TCP segments that this side has sent again; 0 if unknown.
std::uint32_t retransmissions(Socket& socket) noexcept;

}  // namespace rpcrdma::fabric::iwarp
