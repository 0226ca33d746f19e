// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>

namespace rpcrdma::conform {

/// Text for XML and HTML. `text` may contain bytes of a peer: control characters other than line feeds, and bytes that
/// are not ASCII, become '?'.
std::string escape_xml(std::string_view text);

/// `text` as a YAML string in double quotes: escapes quotes, backslashes, and everything but printable ASCII.
std::string quote_yaml(std::string_view text);

/// Text with '?' for control characters and bytes that are not ASCII: a peer cannot steer the terminal or end a line of
/// TAP.
std::string printable(std::string_view text);

}  // namespace rpcrdma::conform
