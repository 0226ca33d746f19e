// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/tirpc.h"

namespace rpcrdma::tirpc {

/// A log that calls a function of the program; an empty one if `function` is null.
Log log_to(rpcrdma_log_function function, void* context);

}  // namespace rpcrdma::tirpc
