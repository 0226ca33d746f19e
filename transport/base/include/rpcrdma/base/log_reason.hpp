// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/core.h>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma {

/// An argument of a log line that stands for an error, or for the reason why a connection ended. The text of the error
/// is made only if the line is written.
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
