// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rpcrdma::cli {

/// Raises this process's limit of descriptors as far as permitted: each connection takes one.
void raise_descriptor_limit() noexcept;

}  // namespace rpcrdma::cli
