// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "rpcrdma/cli/help.hpp"

namespace rpcrdma::cli {

/// Returns `Usage: NAME [OPTION]...`, where NAME is `name`, followed by the arguments and, if `app` has commands, by
/// `COMMAND [ARGUMENT]...`.
std::string usage_of(const CLI::App& app, const std::string& name);

/// The command line as one JSON object:
///   {"name", "about", "usage", "example", "options": [OPTION...], "arguments": [OPTION...], "commands": [this...],
///    "sections": [{"title", "entries": [{"term", "text"}]}]}
///   OPTION = {"names", "group", "type", "value", "choices", "text", "about", "required", "repeats"}
/// where `value` is the type as the help shows it, `about` the description, and `text` the result of full_text().
std::string describe(const CLI::App& app, const std::vector<Section>& sections);

}  // namespace rpcrdma::cli
