// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::verbs {

/// Loads libibverbs and librdmacm, at the first call; they stay. Before it succeeds none of their functions may be
/// called. FabricError::no_libibverbs or no_librdmacm if one is not there, or is too old. Any thread.
error_code load_rdma_core() noexcept;

}  // namespace rpcrdma::fabric::verbs
