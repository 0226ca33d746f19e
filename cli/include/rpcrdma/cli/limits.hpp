// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rpcrdma::cli {

/// Raises the limit of descriptors of this process as far as it may: each connection takes one.
void raise_descriptor_limit() noexcept;

}  // namespace rpcrdma::cli
