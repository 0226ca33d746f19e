// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>

namespace rpcrdma::conform {

/// Text for XML and HTML. A peer's bytes may be in it: characters that XML does not allow become '?'.
std::string escape_xml(std::string_view text);

/// A string between double quotes for YAML: printable ASCII, everything else escaped.
std::string quote_yaml(std::string_view text);

/// Text without control characters, so that a peer cannot steer the terminal or end a line of TAP.
std::string printable(std::string_view text);

}  // namespace rpcrdma::conform
