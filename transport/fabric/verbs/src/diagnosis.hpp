// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <rdma/rdma_cma.h>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::verbs {

/// Returns the reason why `id` could not be bound to a device: FabricError::no_device if the kernel has no device at
/// the address, and device_closed or no_driver if the device cannot be opened. `id` is null if no id could be created.
error_code why_no_device(rdma_cm_id* id) noexcept;

}  // namespace rpcrdma::fabric::verbs
