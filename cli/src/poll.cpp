// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/cli/poll.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace rpcrdma::cli {

CLI::Option* add_poll_option(CLI::App& app, Polling& polling) {
  const auto take = [&polling](const std::string& text) {
    const auto parsed = parse_polling(text);
    if (!parsed) throw CLI::ValidationError("--poll", fmt::format("{}: '{}'", kNotPolling, text));
    polling = *parsed;
  };
  return app
      .add_option_function<std::string>("--poll", take,
                                        "How long to poll for work before sleeping; auto: as long as this saves time")
      ->type_name("auto|off|MICROSECONDS")
      ->default_str("auto");
}

}  // namespace rpcrdma::cli
