// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Maps errors of rdma-core to error codes of the fabric.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "rpcrdma/fabric/error.hpp"

namespace rpcrdma::fabric::verbs {

/// errno, as calls of librdmacm leave it.
error_code last_error() noexcept;
/// A positive errno, as calls of libibverbs return it; 0 is success.
error_code system_error(int error) noexcept;

/// The error of a send, write, read, bind or invalidation.
error_code completion_error(ibv_wc_status status) noexcept;
error_code receive_error(ibv_wc_status status) noexcept;

/// The reason why a connection was not established. `status` is a negative errno, or InfiniBand's reason for a REJECT.
error_code connect_error(rdma_cm_event_type type, int status) noexcept;

}  // namespace rpcrdma::fabric::verbs
