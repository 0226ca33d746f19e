// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"

namespace rpcrdma::rpc {

/// Why an RPC failed above the transport (RFC 5531 section 9). Each error has a Condition: `retry` for system_err and
/// no_rpcbind, `bug` for garbage_args, bad_reduction and unencodable, and `give_up` for all others.
enum class RpcError {
  program_unavailable = 1,  ///< PROG_UNAVAIL
  program_mismatch,         ///< PROG_MISMATCH: the server serves other versions
  procedure_unavailable,    ///< PROC_UNAVAIL
  garbage_args,             ///< GARBAGE_ARGS: the server could not decode the arguments
  system_err,               ///< SYSTEM_ERR: the server could not serve the call
  rpc_mismatch,             ///< RPC_MISMATCH: the server does not support RPC version 2
  auth_bad_credential,      ///< AUTH_ERROR: AUTH_BADCRED
  auth_rejected,            ///< AUTH_ERROR: AUTH_REJECTEDCRED
  auth_bad_verifier,        ///< AUTH_ERROR: AUTH_BADVERF or AUTH_REJECTEDVERF
  auth_too_weak,            ///< AUTH_ERROR: AUTH_TOOWEAK
  auth_failed,              ///< AUTH_ERROR: any other reason
  bad_reply,                ///< the reply cannot be decoded
  bad_reduction,            ///< the server reduced an ineligible item, or did not reduce an item that it must reduce
  unencodable,              ///< the arguments have no XDR encoding
  no_rpcbind,               ///< no port was given, and the entries of the server's rpcbind cannot be fetched
  not_registered,           ///< the server's rpcbind has no entry for the program's version on this transport
};

/// For the conversion to error_code.
RPCRDMA_EXPORT error_code make_error_code(RpcError e) noexcept;

}  // namespace rpcrdma::rpc

template <>
struct boost::system::is_error_code_enum<rpcrdma::rpc::RpcError> : std::true_type {};
