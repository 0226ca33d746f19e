// SPDX-License-Identifier: BSD-3-Clause
#include "escape.hpp"

#include <fmt/format.h>

namespace rpcrdma::conform {
namespace {

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool is_ascii(char c) noexcept { return static_cast<unsigned char>(c) < 0x80; }

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n': out += c; break;
      default: out += is_control(c) || !is_ascii(c) ? '?' : c;
    }
  }
  return out;
}

std::string quote_yaml(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (is_control(c) || !is_ascii(c))
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + '"';
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (is_control(c) || !is_ascii(c)) c = '?';
  return out;
}

}  // namespace rpcrdma::conform
