// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <string_view>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::proxy {

/// The direction of a byte stream. The client is the side that connected to the proxy.
enum class Side : std::uint8_t { to_server, to_client };

constexpr Side opposite(Side side) noexcept { return side == Side::to_server ? Side::to_client : Side::to_server; }

constexpr std::string_view name_of(Side side) noexcept { return side == Side::to_server ? "to-server" : "to-client"; }

/// Program, version and procedure of a call.
struct Procedure {
  std::uint32_t program = 0, version = 0, number = 0;
};

/// The fields of an RPC-over-RDMA message that the proxy reads.
struct RpcMessage {
  std::uint32_t xid = 0;
  bool is_call = false;
  /// Not known for replies, for long calls, and for versions of RPC-over-RDMA other than one.
  std::optional<Procedure> procedure;
};

/// Where the credit value is in an RPC-over-RDMA message, in all versions (RFC 8166 section 4.2.3).
inline constexpr std::size_t kCreditOffset = 8;

/// Reads the payload of a Send that travels in direction `side`. Returns nothing if the payload is too short for a
/// transport header. If the payload has no RPC header that this function can read, a message to the server counts as a
/// call and a message to the client as a reply. Exception: an RDMA_ERROR always counts as a reply.
std::optional<RpcMessage> read_rpc_message(Octets payload, Side side);

/// True for NFSv3's procedures from CREATE to LINK: a second execution of the call may have a different effect.
bool is_non_idempotent(const Procedure& procedure) noexcept;

}  // namespace rpcrdma::proxy
