// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdint>

#include "rpcrdma/base/log_format.hpp"

namespace rpcrdma {
namespace {

/// The length of the UTF-8 sequence (RFC 3629) at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto octet = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = octet(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((octet(i) & 0xc0) != 0x80) return 0;
  // Not UTF-8: overlong encodings, surrogates, and values above U+10FFFF.
  const bool wrong = (first == 0xe0 && octet(1) < 0xa0) || (first == 0xed && octet(1) > 0x9f) ||
                     (first == 0xf0 && octet(1) < 0x90) || (first == 0xf4 && octet(1) > 0x8f);
  return wrong ? 0 : length;
}

}  // namespace

std::string json_escaped(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char first = text.front();
    if (length == 0)
      out += kReplacement;
    else if (first == '"' || first == '\\')
      (out += '\\') += first;
    else if (length == 1 && (static_cast<std::uint8_t>(first) < 0x20 || first == 0x7f))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace rpcrdma
