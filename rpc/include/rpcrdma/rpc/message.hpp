// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// RPC call and reply headers (RFC 5531 section 9): everything before the arguments or results.
#include <cstdint>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/rpc/auth.hpp"
#include "rpcrdma/rpc/error.hpp"
#include "rpcrdma/xdr/decoder.hpp"
#include "rpcrdma/xdr/encoder.hpp"

namespace rpcrdma::rpc {

inline constexpr std::uint32_t kRpcVersion = 2;
inline constexpr std::uint32_t kMaxAuthBody = 400;  // the most bytes in the body of a credential or verifier

enum class MessageType : std::uint32_t { call = 0, reply = 1 };
enum class AcceptStat : std::uint32_t {
  success = 0,
  program_unavailable = 1,
  program_mismatch = 2,
  procedure_unavailable = 3,
  garbage_args = 4,
  system_err = 5,
};
enum class AuthStat : std::uint32_t {
  ok = 0,
  bad_credential = 1,
  rejected_credential = 2,
  bad_verifier = 3,
  rejected_verifier = 4,
  too_weak = 5,
  invalid_response = 6,
  failed = 7,
};

struct CallHeader {
  std::uint32_t xid = 0;
  std::uint32_t rpc_version = kRpcVersion;
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  Credential credential;
};

/// Result of decode() for a call header.
enum class CallCheck : std::uint8_t {
  ok,
  unreadable,      ///< no XID, or not a call
  truncated,       ///< a call that ends before its procedure number
  rpc_mismatch,    ///< another RPC version: the fields after the version are not decoded
  bad_credential,  ///< too long, truncated, or a malformed AUTH_SYS body
  bad_verifier,    ///< too long or truncated
};

/// Appends `header` to the message of `out`, which must not be replacing bytes (xdr::Encoder::set_position()).
RPCRDMA_EXPORT void encode(xdr::Encoder& out, const CallHeader& header) noexcept;
RPCRDMA_EXPORT CallCheck decode(xdr::Decoder& in, CallHeader& header) noexcept;

/// A reply header. `kind` and `accept` determine which other fields are used.
struct ReplyHeader {
  enum class Kind : std::uint8_t { accepted, rpc_mismatch, auth_error };
  std::uint32_t xid = 0;
  Kind kind = Kind::accepted;
  AcceptStat accept = AcceptStat::success;
  AuthStat auth = AuthStat::ok;
  std::uint32_t low = 0;   ///< lowest version served, for program_mismatch and rpc_mismatch
  std::uint32_t high = 0;  ///< highest version served, for program_mismatch and rpc_mismatch
};

/// As encode() of a call header. The verifier of an accepted reply is AUTH_NONE; a rejected one has none.
RPCRDMA_EXPORT void encode(xdr::Encoder& out, const ReplyHeader& header) noexcept;
/// Decodes a reply header. Returns false if `in` does not contain a valid one. Skips verifiers of any flavor.
RPCRDMA_EXPORT bool decode(xdr::Decoder& in, ReplyHeader& header) noexcept;
/// The error that a reply header stands for; success for an accepted, successful call.
RPCRDMA_EXPORT error_code outcome(const ReplyHeader& header) noexcept;

/// The size of the header of an accepted, successful reply with an AUTH_NONE verifier: the results follow.
inline constexpr std::uint32_t kReplyHeaderSize = 24;

}  // namespace rpcrdma::rpc
