// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>

namespace rpcrdma::conform {

/// Escapes `text` for XML and HTML. Replaces control characters other than line feeds, and bytes that are not ASCII, by
/// '?', because `text` may contain bytes that a peer has sent.
std::string escape_xml(std::string_view text);

/// `text` as a YAML string in double quotes: escapes quotes, backslashes, and everything but printable ASCII.
std::string quote_yaml(std::string_view text);

/// Replaces control characters, and bytes that are not ASCII, by '?'. Bytes that a peer has sent can then neither steer
/// the terminal nor end a line of TAP.
std::string printable(std::string_view text);

}  // namespace rpcrdma::conform
