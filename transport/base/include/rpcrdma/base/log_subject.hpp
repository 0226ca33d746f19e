// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What a log line is about.
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

/// A connection, or a call on a connection. Copying it neither allocates nor counts references.
struct LogSubject {
  std::uint64_t connection = 0;           ///< the number of the connection; 0: none
  std::string_view fabric{};              ///< "iwarp", "verbs", "loopback", "tcp": a literal; empty: none
  boost::asio::ip::tcp::endpoint peer{};  ///< port 0: none
  std::optional<std::uint32_t> xid{};     ///< of the call
};

/// The number of a new connection: unique in the process, ascending from 1. May be called on any thread.
RPCRDMA_EXPORT std::uint64_t next_connection_number() noexcept;

/// Returns a text such as "192.0.2.1:1023" or "[2001:db8::1]:1023".
RPCRDMA_EXPORT std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);
/// An XID in 8 hexadecimal digits, as captures and probes show it.
RPCRDMA_EXPORT std::string xid_text(std::uint32_t xid);
/// Returns a text such as "conn=17 peer=192.0.2.1:1023 fabric=iwarp xid=1a2b3c4d". Parts that are unknown are left out.
RPCRDMA_EXPORT std::string text_of(const LogSubject& subject);

}  // namespace rpcrdma
