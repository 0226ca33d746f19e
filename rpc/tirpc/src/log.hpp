// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/tirpc.h"

namespace rpcrdma::tirpc {

/// A log that calls `function`, which belongs to the program; an empty log if `function` is null.
Log log_to(rpcrdma_log_function function, void* context);

}  // namespace rpcrdma::tirpc
