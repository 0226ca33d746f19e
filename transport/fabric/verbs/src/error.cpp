// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"

#include <boost/system/system_error.hpp>
#include <cerrno>

namespace rpcrdma::fabric::verbs {
namespace {

// Reason codes of an InfiniBand REJECT (InfiniBand Architecture, volume 1, section 12.6.7.2).
constexpr int kTimeout = 4;
constexpr int kInvalidServiceId = 8;
constexpr int kStaleConnection = 10;
constexpr int kConsumer = 28;

}  // namespace

error_code system_error(int error) noexcept { return {error, boost::system::system_category()}; }

error_code last_error() noexcept { return system_error(errno != 0 ? errno : EIO); }

error_code completion_error(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS: return {};
    case IBV_WC_WR_FLUSH_ERR: return FabricError::flushed;
    case IBV_WC_REM_ACCESS_ERR: return FabricError::remote_access;
    case IBV_WC_LOC_LEN_ERR: return FabricError::message_too_long;
    // IBV_WC_RNR_RETRY_EXC_ERR: the peer had no receive posted for a Send. The peer itself sees no error.
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR: return FabricError::remote_terminated;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR: return system_error(ETIMEDOUT);
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_MW_BIND_ERR: return BaseError::invalid_argument;
    default: return FabricError::protocol_violation;
  }
}

error_code receive_error(ibv_wc_status status) noexcept {
  // rxe reports this error for a message that is longer than its receive.
  if (status == IBV_WC_LOC_QP_OP_ERR) return FabricError::message_too_long;
  // For a receive, this status means that the peer tried to invalidate memory that is not exposed to it.
  if (status == IBV_WC_REM_INV_REQ_ERR) return FabricError::protocol_violation;
  return completion_error(status);
}

error_code connect_error(rdma_cm_event_type type, int status) noexcept {
  if (type == RDMA_CM_EVENT_REJECTED) {
    if (status == kInvalidServiceId) return system_error(ECONNREFUSED);
    if (status == kTimeout) return FabricError::handshake_timeout;
    // The peer still had an earlier connection with the number of this side's queue pair, and now ends that connection.
    // Another attempt to connect may succeed, because it uses another queue pair.
    if (status == kStaleConnection) return system_error(EAGAIN);
    // If the peer rejects an MPA Request (iWARP), rdma_cm reports ECONNREFUSED or ECONNRESET, depending on the adapter.
    if (status == kConsumer || status == -ECONNREFUSED || status == -ECONNRESET) return FabricError::rejected;
    return status < 0 ? system_error(-status) : error_code(FabricError::rejected);
  }
  if (status == -ETIMEDOUT) return FabricError::handshake_timeout;
  if (status < 0) return system_error(-status);
  return type == RDMA_CM_EVENT_UNREACHABLE ? FabricError::handshake_timeout : FabricError::handshake_failed;
}

}  // namespace rpcrdma::fabric::verbs
