// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "proxy.hpp"
#include "rpcrdma/base/log_format.hpp"

namespace rpcrdma::proxy {

/// The command line of rpcrdma-proxy.
struct Options {
  Tcp::endpoint listen, to;
  std::uint64_t seed = 0;
  Script script;
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;
};

/// Returns nothing if the program must exit with `status`; errors in the command line have been reported.
std::optional<Options> parse_options(int argc, const char* const* argv, int& status);

}  // namespace rpcrdma::proxy
