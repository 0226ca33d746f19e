// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/embed/address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace rpcrdma {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument(fmt::format("address '{}': {}; expected [FABRIC@]HOST[:PORT]", text, why));
}

Carrier parse_carrier(std::string_view name, std::string_view text) {
  Carrier carrier;
  if (name == "tcp") {
    carrier.tcp = true;
  } else if (!fabric::parse_provider(name, carrier.provider)) {
    refuse(text, fmt::format("unknown fabric '{}' (auto, verbs, iwarp, tcp)", name));
  }
  return carrier;
}

std::uint16_t parse_port(std::string_view digits, std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read, failed] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || failed != std::errc() || read != end)
    refuse(text, fmt::format("'{}' is not a port number", digits));
  return port;
}

}  // namespace

Address parse_address(std::string_view text) {
  Address address;
  std::string_view rest = text;
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    address.carrier = parse_carrier(rest.substr(0, at), text);
    rest.remove_prefix(at + 1);
  }
  std::string_view host = rest;
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) refuse(text, "']' is missing");
    host = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    if (!rest.empty() && rest.front() != ':') refuse(text, "after ']' only :PORT may follow");
    if (!rest.empty()) address.port = parse_port(rest.substr(1), text);
  } else if (const auto colon = rest.find(':'); colon != std::string_view::npos && colon == rest.rfind(':')) {
    host = rest.substr(0, colon);
    address.port = parse_port(rest.substr(colon + 1), text);
  }
  if (host.empty()) refuse(text, "the host is missing");
  address.host = host;
  return address;
}

}  // namespace rpcrdma
