// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::observe {

/// Whether the value of a Host header (RFC 9110 section 7.2) is an IP address, localhost or one of `names`, with or
/// without a port. The owner of any other name may have pointed it at this machine, to let a web page read the
/// answers (DNS rebinding).
bool is_own_host(std::string_view value, const std::vector<std::string>& names);

}  // namespace rpcrdma::observe
