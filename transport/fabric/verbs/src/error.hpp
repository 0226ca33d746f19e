// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Maps errors of rdma-core to error codes of the fabric.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "rpcrdma/fabric/error.hpp"

namespace rpcrdma::fabric::verbs {

/// The error of a function that has just failed and sets errno, as those of librdmacm do. EIO if errno is 0.
error_code last_error() noexcept;
/// The error code for a positive errno value, such as many libibverbs functions return. 0 means success.
error_code system_error(int error) noexcept;

/// The error that the completion status of a send, write, read, bind or invalidation stands for. Use receive_error()
/// for the completion of a receive: some statuses mean another error there.
error_code completion_error(ibv_wc_status status) noexcept;
error_code receive_error(ibv_wc_status status) noexcept;

/// The reason why a connection was not established. `status` is a negative errno, or InfiniBand's reason for a REJECT.
error_code connect_error(rdma_cm_event_type type, int status) noexcept;

}  // namespace rpcrdma::fabric::verbs
