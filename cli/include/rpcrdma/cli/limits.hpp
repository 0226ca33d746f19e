// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rpcrdma::cli {

/// Raises the limit of open file descriptors of this process as far as permitted: each connection over TCP takes one.
void raise_descriptor_limit() noexcept;

}  // namespace rpcrdma::cli
