// SPDX-License-Identifier: BSD-3-Clause
#include "own_host.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::observe {
namespace {

bool is_port(std::string_view text) {
  return text.empty() ||
         (text.front() == ':' && text.size() <= 6 &&
          std::all_of(text.begin() + 1, text.end(), [](char digit) { return digit >= '0' && digit <= '9'; }));
}

}  // namespace

bool is_own_host(std::string_view value, const std::vector<std::string>& names) {
  error_code bad;
  if (value.starts_with('[')) {
    const std::size_t end = value.find(']');
    if (end == value.npos || !is_port(value.substr(end + 1))) return false;
    boost::asio::ip::make_address_v6(std::string(value.substr(1, end - 1)), bad);
    return !bad;
  }
  const std::string host(value.substr(0, value.find(':')));
  if (!is_port(value.substr(host.size()))) return false;
  boost::asio::ip::make_address_v4(host, bad);
  const auto is_host = [&host](const std::string& name) { return boost::beast::iequals(host, name); };
  return !bad || is_host("localhost") || (!host.empty() && std::any_of(names.begin(), names.end(), is_host));
}

}  // namespace rpcrdma::observe
