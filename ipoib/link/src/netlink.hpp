// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/ipoib/link/ip_address.hpp"

namespace rpcrdma::ipoib {

/// Adds an address to an interface (RTM_NEWADDR). An IPv6 address is usable at once, without duplicate address
/// detection, which requires multicast.
error_code add_address(int interface_index, const IpPrefix& address);

}  // namespace rpcrdma::ipoib
