// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string_view>

namespace rpcrdma::observe {

/// Returns the text of page/page.html, the web page that shows the server's statistics. The page is one HTML document
/// that loads no resources from other hosts.
std::string_view page() noexcept;

}  // namespace rpcrdma::observe
