// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Parses the address of a server, "[FABRIC@]HOST[:PORT]", and the values of options. Looks up the addresses of the
// host, and asks its rpcbind for a port.
#include <rpc/rpc.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/wait_policy.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::tirpc {

/// The parts of "[FABRIC@]HOST[:PORT]".
struct Target {
  fabric::Provider provider = fabric::Provider::automatic;
  std::string host;
  std::optional<std::uint16_t> port;
};

/// Returns nothing if `text` has another form.
std::optional<Target> parse_target(std::string_view text);

/// The choice that the option rdma_version names; null means version one. Returns nothing for other text.
inline std::optional<transport::VersionChoice> version_of(const char* name) noexcept {
  return name == nullptr ? transport::VersionChoice::one : transport::parse_version(name);
}

/// The value of the option poll; null means "auto". Returns nothing for other text.
inline std::optional<Polling> polling_of(const char* text) noexcept {
  return text == nullptr ? Polling{} : parse_polling(text);
}

/// The addresses of a host, as getaddrinfo() orders them; none if it is unknown. Blocks.
std::vector<boost::asio::ip::address> addresses_of(const std::string& host);

/// The netid of RPC-over-RDMA for an address (RFC 8166 section 9).
const char* netid_of(const boost::asio::ip::address& address) noexcept;

/// Asks the rpcbind service of `host` for the RDMA port of `program`. If rpcbind lists no port for `version`, returns
/// the port of another version. On failure, sets rpc_createerr and returns nothing. Waits at most `timeout` for the
/// connection to rpcbind, and then at most `timeout` for the reply.
std::optional<std::uint16_t> ask_rpcbind(const boost::asio::ip::address& host, rpcprog_t program, rpcvers_t version,
                                         std::chrono::milliseconds timeout);

/// An endpoint as a socket address, and its length.
sockaddr_storage socket_address(const fabric::Endpoint& endpoint, socklen_t& length) noexcept;

}  // namespace rpcrdma::tirpc
