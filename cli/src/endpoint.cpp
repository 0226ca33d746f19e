// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/cli/endpoint.hpp"

#include <charconv>
#include <string>

namespace rpcrdma::cli {

std::optional<boost::asio::ip::tcp::endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != host.npos) return std::nullopt;
  boost::system::error_code bad;
  const auto address = boost::asio::ip::make_address(std::string(host), bad);
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (bad || failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return boost::asio::ip::tcp::endpoint(address, port);
}

}  // namespace rpcrdma::cli
