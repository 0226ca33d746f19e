// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::observe {

/// Returns true if the value of a Host header (RFC 9110 section 7.2) is an IP address, localhost or one of `names`,
/// with or without a port. An attacker may have made any other name resolve to this machine, so that a web page of the
/// attacker can read the answers (DNS rebinding).
bool is_own_host(std::string_view value, const std::vector<std::string>& names);

}  // namespace rpcrdma::observe
