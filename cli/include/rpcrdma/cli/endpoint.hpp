// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string_view>

namespace rpcrdma::cli {

/// Parses ADDR:PORT. ADDR is numeric, and in brackets if it is an IPv6 address; PORT may be 0. Returns nothing
/// for other text; host names are not resolved.
std::optional<boost::asio::ip::tcp::endpoint> parse_endpoint(std::string_view text);

}  // namespace rpcrdma::cli
