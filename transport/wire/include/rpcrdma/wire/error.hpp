// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"

namespace rpcrdma::wire {

/// The errors that a receiver may find in an RPC-over-RDMA header. The answer depends on the receiver's role (RFC 8166
/// section 4.5):
///
///     error               as Responder             as Requester
///     too_short           discard                  discard
///     bad_version         RDMA_ERROR, ERR_VERS     discard
///     bad_procedure       RDMA_ERROR, ERR_CHUNK    discard
///     bad_chunks          RDMA_ERROR, ERR_CHUNK    discard
///     too_many_segments   RDMA_ERROR, ERR_CHUNK    discard
///     xid_mismatch        RDMA_ERROR, ERR_CHUNK    discard
///     obsolete_msgp       RDMA_ERROR, ERR_CHUNK    discard
///     obsolete_done       discard                  discard
///     bad_error           discard                  discard
///     bad_direction       RDMA_ERROR, ERR_CHUNK    discard
///     bad_option          RDMA_ERROR, ERR_CHUNK    discard
///     unsupported_option  RDMA_ERROR, INVAL_OPTION discard
///
/// A Requester answers a faulty RDMA2_OPTIONAL as a Responder does. If it serves reverse calls, it answers every
/// message that matches none of its own calls as a Responder does. answered_with() implements the column of the
/// Responder.
enum class WireError {
  too_short = 1,      ///< fewer than 16 bytes, or fewer than 28 bytes if the message is not an RDMA_ERROR
  bad_version,        ///< a version that this receiver does not accept
  bad_procedure,      ///< rdma_proc is not a procedure of the version
  bad_chunks,         ///< malformed chunk lists, RDMA_NOMSG without chunks, or a payload that is neither call nor reply
  too_many_segments,  ///< well-formed so far, but with more segments or Write chunks than the receiver accepts
  xid_mismatch,       ///< the payload of an RDMA_MSG does not begin with the header's XID
  obsolete_msgp,      ///< RDMA_MSGP (section 4.6.1)
  obsolete_done,      ///< RDMA_DONE (section 4.6.2)
  bad_error,          ///< an RDMA_ERROR that cannot be decoded
  // Version two only.
  bad_direction,       ///< the direction is neither call nor reply, or differs from the payload's direction
  bad_option,          ///< the content of an RDMA2_OPTIONAL cannot be decoded
  unsupported_option,  ///< an RDMA2_OPTIONAL of a type that this implementation does not support
};

RPCRDMA_EXPORT error_code make_error_code(WireError e) noexcept;

/// How a Responder answers a message that it could not decode.
enum class Answer { discard, err_vers, err_chunk, err_option };
RPCRDMA_EXPORT Answer answered_with(WireError e) noexcept;

}  // namespace rpcrdma::wire

template <>
struct boost::system::is_error_code_enum<rpcrdma::wire::WireError> : std::true_type {};
