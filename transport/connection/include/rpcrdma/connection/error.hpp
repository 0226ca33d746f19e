// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"

namespace rpcrdma::transport {

/// Why a call failed in the transport. The condition is `reconnect` for connection_lost, unreachable and
/// chunk_unreadable, `retry` for too_many_connections, and `give_up` for all others.
enum class TransportError {
  connection_lost = 1,   ///< the connection ended; a call that fails with this error is not sent again
  unreachable,           ///< the call was never sent, and there was no connection at its deadline
  peer_err_chunk,        ///< the peer answered with RDMA_ERROR, ERR_CHUNK (RFC 8166 section 4.5.2)
  peer_err_vers,         ///< the peer answered with RDMA_ERROR, ERR_VERS (section 4.5.1)
  bad_reply,             ///< the reply does not match its call, or breaks the rules of reduction (section 6.1)
  reply_too_long,        ///< the reply fits neither inline nor in the chunks provided (section 4.5.3)
  call_too_long,         ///< the call is longer than this transport can send
  chunk_unreadable,      ///< a Read chunk could not be pulled
  too_many_connections,  ///< a limit on connections was reached
  /// Reverse calls are off. Over TCP, they are always off. Over RDMA, they are off if the peer has not signalled that
  /// it accepts them (RFC 8167 section 6), if the peer refuses them, or if this side requests no credits for them.
  reverse_disabled,
  no_characteristics,  ///< the connection does not exchange characteristics (rpcrdma/connection/characteristics.hpp)
};

/// For the conversion to error_code.
RPCRDMA_EXPORT error_code make_error_code(TransportError e) noexcept;

}  // namespace rpcrdma::transport

template <>
struct boost::system::is_error_code_enum<rpcrdma::transport::TransportError> : std::true_type {};
