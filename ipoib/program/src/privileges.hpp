// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::ipoib {

/// Gives up permanently all capabilities but CAP_NET_ADMIN and those that drop_privileges() needs.
error_code keep_network_privilege() noexcept;

/// If the user is root, changes user and group to nobody. Then gives up the remaining capabilities.
error_code drop_privileges() noexcept;

}  // namespace rpcrdma::ipoib
