// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <string_view>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::conform {

/// Whether port 0 is an endpoint, to listen at any free port.
enum class AnyPort { refused, allowed };

/// Parses ADDR:PORT, where ADDR is numeric and in brackets if it is of IPv6; nothing if it is something else.
std::optional<fabric::Endpoint> parse_endpoint(std::string_view text, AnyPort any_port = AnyPort::refused);

}  // namespace rpcrdma::conform
