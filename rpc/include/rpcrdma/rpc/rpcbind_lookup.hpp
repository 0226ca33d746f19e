// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Asks a host's rpcbind for the port of a program (RFC 1833 section 2.1).
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"

namespace rpcrdma::rpc {

/// The port in a universal address (RFC 5665 section 5.2.3), such as 20049 in "192.0.2.1.78.81". Returns nothing unless
/// `text` ends in two numbers up to 255, each after a dot.
RPCRDMA_EXPORT std::optional<std::uint16_t> port_of_universal_address(std::string_view text) noexcept;

/// Asks rpcbind at `rpcbind` for the port of a program version on the transport `netid` (rdma, rdma6, tcp, tcp6).
/// Fetches the whole list (RPCBPROC_DUMP), because other requests answer only for transports that rpcbind itself uses.
/// Errors: RpcError::no_rpcbind, not_registered. Called on the thread of `context`.
RPCRDMA_EXPORT boost::asio::awaitable<Result<std::uint16_t>> lookup_port(boost::asio::io_context& context,
                                                                         boost::asio::ip::tcp::endpoint rpcbind,
                                                                         std::uint32_t program, std::uint32_t version,
                                                                         std::string netid,
                                                                         std::chrono::milliseconds timeout);

}  // namespace rpcrdma::rpc
