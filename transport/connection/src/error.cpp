// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/connection/error.hpp"

#include <string>

namespace rpcrdma::transport {
namespace {

class TransportCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "rpcrdma.transport"; }
  std::string message(int value) const override {
    switch (static_cast<TransportError>(value)) {
      case TransportError::connection_lost: return "connection lost";
      case TransportError::unreachable: return "server could not be reached in time";
      case TransportError::peer_err_chunk: return "peer could not process the chunks (ERR_CHUNK)";
      case TransportError::peer_err_vers: return "peer does not support this RPC-over-RDMA version (ERR_VERS)";
      case TransportError::bad_reply:
        return "peer's reply does not match its call, or breaks the rules of data reduction";
      case TransportError::reply_too_long: return "reply fits neither inline nor in the provided chunks";
      case TransportError::call_too_long: return "call is too long";
      case TransportError::chunk_unreadable: return "peer's Read chunk could not be read";
      case TransportError::too_many_connections: return "too many connections";
      case TransportError::reverse_disabled: return "reverse calls are not enabled on this connection";
      case TransportError::no_characteristics: return "connection does not exchange transport characteristics";
    }
    return "unknown transport error";
  }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<TransportError>(value)) {
      case TransportError::connection_lost:
      case TransportError::unreachable:
      case TransportError::chunk_unreadable: return make_error_condition(Condition::reconnect);
      case TransportError::too_many_connections: return make_error_condition(Condition::retry);
      default: return make_error_condition(Condition::give_up);
    }
  }
};

const TransportCategory kCategory;

}  // namespace

error_code make_error_code(TransportError e) noexcept { return {static_cast<int>(e), kCategory}; }

}  // namespace rpcrdma::transport
