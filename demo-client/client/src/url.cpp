// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/url.hpp"

#include <fmt/format.h>

#include <charconv>

namespace rpcrdma::nfs {
namespace {

template <class T>
using Parsed = boost::system::result<T, UrlError>;

constexpr std::string_view kScheme = "nfs://";
constexpr std::string_view kNotInHost{"[]\0", 3};

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

UrlError bad_name() { return {"a file name cannot hold '/' or a zero byte"}; }

Parsed<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (text[i] == '\0') return bad_name();
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return UrlError{"'%' must be followed by two hexadecimal digits"};
    const int byte = high * 16 + low;
    if (byte == 0 || byte == '/') return bad_name();
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return Parsed<std::string>(boost::system::in_place_value, std::move(out));
}

Parsed<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value == 0 || value > 65535) {
    return UrlError{fmt::format("'{}' is not a port", text)};
  }
  return static_cast<std::uint16_t>(value);
}

bool must_escape(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte >= 0x7f || c == '%' || c == '?' || c == '#';
}

}  // namespace

Parsed<Url> parse_host(std::string_view text) {
  Url url;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return UrlError{"']' is missing after the IPv6 address"};
    url.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return UrlError{"only ':PORT' may follow ']'"};
  } else {
    const std::size_t colon = text.find(':');
    url.host = text.substr(0, colon);
    if (colon != std::string_view::npos) rest = text.substr(colon);
    if (rest.find(':', 1) != std::string_view::npos)
      return UrlError{"an IPv6 address must be in brackets, such as [::1]"};
  }
  if (url.host.empty()) return UrlError{"the host is missing"};
  if (url.host.find_first_of(kNotInHost) != std::string::npos)
    return UrlError{"a host cannot hold '[', ']' or a zero byte"};
  if (!rest.empty()) {
    const Parsed<std::uint16_t> port = parse_port(rest.substr(1));
    if (!port) return port.error();
    url.port = *port;
  }
  return url;
}

Parsed<Url> parse_url(std::string_view text) {
  if (!text.starts_with(kScheme)) return UrlError{"a URL looks like nfs://HOST[:PORT]/EXPORT[/PATH]"};
  std::string_view rest = text.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  Parsed<Url> url = parse_host(rest.substr(0, slash));
  if (!url) return url;
  rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('/');
    Parsed<std::string> component = unescape(rest.substr(0, end));
    if (!component) return component.error();
    if (*component == "..") return UrlError{"'..' is not supported in a URL"};
    if (!component->empty() && *component != ".") url->path.push_back(std::move(*component));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return url;
}

std::string Url::text() const {
  const bool bracket = host.find(':') != std::string::npos;
  std::string out = fmt::format("{}{}{}{}", kScheme, bracket ? "[" : "", host, bracket ? "]" : "");
  if (port != kDefaultPort) out += fmt::format(":{}", port);
  for (const std::string& component : path) {
    out.push_back('/');
    for (const char c : component) {
      if (must_escape(c)) {
        out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
      } else {
        out.push_back(c);
      }
    }
  }
  if (path.empty()) out.push_back('/');
  return out;
}

Url Url::child(std::string_view name) const {
  Url copy = *this;
  copy.path.emplace_back(name);
  return copy;
}

}  // namespace rpcrdma::nfs
