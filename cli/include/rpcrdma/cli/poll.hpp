// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The option --poll, which several programs have.
#include "rpcrdma/base/wait_policy.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rpcrdma::cli {

/// The error message for a bad value of --poll.
inline constexpr const char* kNotPolling = "not auto, off or microseconds, 1 to 1000000";

/// Adds --poll, which sets `polling`; `polling` must exist until the command line is parsed. Call this before finish().
CLI::Option* add_poll_option(CLI::App& app, Polling& polling);

}  // namespace rpcrdma::cli
