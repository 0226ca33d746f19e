// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Messages of ONC RPC (RFC 5531).
#include "rpcrdma/conform/codec/words.hpp"

namespace rpcrdma::conform {

/// accept_stat.
enum : std::uint32_t {
  kSuccess = 0,
  kProgUnavail = 1,
  kProgMismatch = 2,
  kProcUnavail = 3,
  kGarbageArgs = 4,
  kSystemErr = 5
};
/// reply_stat and reject_stat.
enum : std::uint32_t { kAccepted = 0, kDenied = 1, kRpcMismatch = 0, kAuthError = 1 };
/// auth_flavor.
enum : std::uint32_t { kAuthNone = 0, kAuthSys = 1, kAuthShort = 2, kAuthGss = 6 };

/// A credential or verifier.
struct Auth {
  std::uint32_t flavor = kAuthNone;
  Bytes body{};
};

/// A credential of AUTH_SYS.
Auth auth_sys(std::uint32_t uid, std::uint32_t gid, std::string_view machine = "conform",
              const std::vector<std::uint32_t>& gids = {});

/// An RPC call. Members that are constants of the protocol can be changed, to break its rules.
struct RpcCall {
  std::uint32_t xid = 0;
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  Auth credential{};
  Auth verifier{};
  Bytes arguments{};
  std::uint32_t type = 0;
  std::uint32_t rpc_version = 2;
};

Bytes encode(const RpcCall& call);
/// Decodes a call strictly; `arguments` are the bytes after the verifier.
RpcCall decode_call(View message);

/// An RPC reply. If it is RPC_MISMATCH or PROG_MISMATCH, `low` and `high` are the lowest and the highest version that
/// the server supports.
struct RpcReply {
  std::uint32_t xid = 0;
  std::uint32_t status = kAccepted;
  std::uint32_t accept = kSuccess;  ///< accept_stat, if the call is accepted
  std::uint32_t reject = 0;         ///< reject_stat, if the call is denied
  std::uint32_t auth = 0;           ///< auth_stat, if reject_stat is AUTH_ERROR
  std::uint32_t low = 0, high = 0;
  Bytes results{};
};

RpcReply decode_reply(View message);
/// Encodes a reply. The verifier of an accepted reply is AUTH_NONE; a denied one has none.
Bytes encode(const RpcReply& reply);
/// "SUCCESS", "PROG_MISMATCH 3..3", "denied: RPC_MISMATCH 2..2", ...
std::string describe(const RpcReply& reply);

}  // namespace rpcrdma::conform
