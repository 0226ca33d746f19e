// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::ipoib {

/// Gives up permanently all capabilities but CAP_NET_ADMIN and those that drop_privileges() needs.
error_code keep_network_privilege() noexcept;

/// Gives up the remaining capabilities, and changes the user from root to nobody.
error_code drop_privileges() noexcept;

}  // namespace rpcrdma::ipoib
