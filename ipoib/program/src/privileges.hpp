// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::ipoib {

/// Gives up all capabilities permanently, except CAP_NET_ADMIN, CAP_SETUID and CAP_SETGID. drop_privileges() needs the
/// last two to change the user and the group.
error_code keep_network_privilege() noexcept;

/// If the user is root, changes user and group to nobody. Then gives up the remaining capabilities.
error_code drop_privileges() noexcept;

}  // namespace rpcrdma::ipoib
