// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string_view>

namespace rpcrdma::observe {

/// The live page: one HTML document without outside resources, from page/page.html.
std::string_view page() noexcept;

}  // namespace rpcrdma::observe
