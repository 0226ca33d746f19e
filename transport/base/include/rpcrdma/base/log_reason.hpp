// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/core.h>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma {

/// An error, or why a connection ended, as an argument of a log line: the text is made only when the line is written.
struct Reason {
  error_code why;  ///< success: an orderly close
};

}  // namespace rpcrdma

/// @cond
template <>
struct fmt::formatter<rpcrdma::Reason> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const rpcrdma::Reason& reason, Context& context) const {
    if (!reason.why) return fmt::formatter<fmt::string_view>::format("closed in an orderly way", context);
    return fmt::formatter<fmt::string_view>::format(reason.why.message(), context);
  }
};
/// @endcond
