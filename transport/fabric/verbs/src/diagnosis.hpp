// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <rdma/rdma_cma.h>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::verbs {

/// Why `id`, which was to be bound to a device, is not; null if there could not even be one. FabricError::no_device if
/// the kernel has no device for it, device_closed or no_driver if it has one that cannot be opened.
error_code why_no_device(rdma_cm_id* id) noexcept;

}  // namespace rpcrdma::fabric::verbs
