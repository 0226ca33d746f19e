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

/// Configures a Socket or an Acceptor: no Nagle delay, non-blocking, keepalive. An accepted connection inherits these
/// options, except that it is blocking.
template <class AnySocket>
error_code prepare(AnySocket& socket, std::chrono::seconds keepalive) noexcept;
/// To be called for a connection whose peer is on the same host. Limits the size of the send buffer, so that the data
/// which waits there is likely to be in the processor's cache when the peer reads it.
void keep_in_cache(Socket& socket) noexcept;
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
/// The present TCP segment size of the path; 0 if unknown.
std::uint32_t segment_size(Socket& socket) noexcept;
/// TCP segments that this side has sent again; 0 if unknown.
std::uint32_t retransmissions(Socket& socket) noexcept;

}  // namespace rpcrdma::fabric::iwarp
