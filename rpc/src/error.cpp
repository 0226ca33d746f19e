// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/error.hpp"

#include <string>

namespace rpcrdma::rpc {
namespace {

class RpcCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "rpcrdma.rpc"; }
  std::string message(int value) const override {
    switch (static_cast<RpcError>(value)) {
      case RpcError::program_unavailable: return "program not served";
      case RpcError::program_mismatch: return "program version not served";
      case RpcError::procedure_unavailable: return "procedure not served";
      case RpcError::garbage_args: return "the server could not decode the arguments";
      case RpcError::system_err: return "the server could not serve the call";
      case RpcError::rpc_mismatch: return "RPC version not supported";
      case RpcError::auth_bad_credential: return "bad credential";
      case RpcError::auth_rejected: return "credential rejected";
      case RpcError::auth_bad_verifier: return "bad verifier";
      case RpcError::auth_too_weak: return "credential too weak";
      case RpcError::auth_failed: return "authentication failed";
      case RpcError::bad_reply: return "malformed reply";
      case RpcError::bad_reduction: return "reply breaks the rules of reduction";
      case RpcError::unencodable: return "value cannot be encoded";
      case RpcError::no_rpcbind: return "the server's rpcbind does not answer; give the port of the service";
      case RpcError::not_registered: return "the server's rpcbind does not know this program, version and transport";
    }
    return "unknown RPC error";
  }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<RpcError>(value)) {
      case RpcError::no_rpcbind:
      case RpcError::system_err: return make_error_condition(Condition::retry);
      case RpcError::garbage_args:
      case RpcError::bad_reduction:
      case RpcError::unencodable: return make_error_condition(Condition::bug);
      default: return make_error_condition(Condition::give_up);
    }
  }
};

const RpcCategory kCategory;

}  // namespace

error_code make_error_code(RpcError e) noexcept { return {static_cast<int>(e), kCategory}; }

}  // namespace rpcrdma::rpc
