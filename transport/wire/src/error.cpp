// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/error.hpp"

#include <string>

namespace rpcrdma::wire {
namespace {

class WireCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "rpcrdma.wire"; }
  std::string message(int value) const override {
    switch (static_cast<WireError>(value)) {
      case WireError::too_short: return "message shorter than an RPC-over-RDMA header";
      case WireError::bad_version: return "unsupported RPC-over-RDMA version";
      case WireError::bad_procedure: return "unknown RPC-over-RDMA procedure";
      case WireError::bad_chunks: return "malformed chunk lists";
      case WireError::too_many_segments: return "more segments than this receiver accepts";
      case WireError::xid_mismatch: return "XIDs of header and RPC message differ";
      case WireError::obsolete_msgp: return "obsolete procedure RDMA_MSGP";
      case WireError::obsolete_done: return "obsolete procedure RDMA_DONE";
      case WireError::bad_error: return "malformed RDMA_ERROR";
      case WireError::bad_direction: return "wrong direction of a version two message";
      case WireError::bad_option: return "malformed RDMA2_OPTIONAL";
      case WireError::unsupported_option: return "unsupported RDMA2_OPTIONAL";
    }
    return "unknown header error";
  }
  boost::system::error_condition default_error_condition(int) const noexcept override {
    return make_error_condition(Condition::give_up);
  }
};

const WireCategory kCategory;

}  // namespace

error_code make_error_code(WireError e) noexcept { return {static_cast<int>(e), kCategory}; }

Answer answered_with(WireError e) noexcept {
  switch (e) {
    case WireError::too_short:      // [8166-4.5-a] dropped silently
    case WireError::obsolete_done:  // [8166-4.6.2-b] dropped silently
    case WireError::bad_error:      // [8166-4.2.4-d] never answered
      return Answer::discard;
    case WireError::bad_version: return Answer::err_vers;  // [8166-4.5.1-a] the answer names the supported versions
    case WireError::bad_procedure:
    case WireError::bad_chunks:
    case WireError::too_many_segments:
    case WireError::xid_mismatch:
    case WireError::obsolete_msgp:  // [8166-4.6.1-b] obsolete
    case WireError::bad_direction:
    case WireError::bad_option: return Answer::err_chunk;           // [8166-4.5.2-a] malformed headers
    case WireError::unsupported_option: return Answer::err_option;  // [v2-3.1-a] [xchar-4-a] RDMA2_ERR_INVAL_OPTION
  }
  return Answer::discard;
}

}  // namespace rpcrdma::wire
