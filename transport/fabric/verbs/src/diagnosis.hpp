// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <rdma/rdma_cma.h>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::verbs {

/// The reason why `id` could not be bound to a device; `id` is null if no id could be created. FabricError::no_device
/// if the kernel has no device at the address, device_closed or no_driver if the device cannot be opened.
error_code why_no_device(rdma_cm_id* id) noexcept;

}  // namespace rpcrdma::fabric::verbs
