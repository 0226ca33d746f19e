// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Properties of an option, extracted from CLI11, which appends the descriptions of validators to the name of the type.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rpcrdma::cli {

struct Facts {
  std::string type;                  ///< such as DIR; empty for a flag
  std::vector<std::string> choices;  ///< all permitted words; empty if other values are permitted
  std::string range;                 ///< "1 to 256", or empty
  std::string value;                 ///< the default, or empty
  std::vector<std::string> needs;    ///< options that must be given too
  bool repeats = false;
};

Facts facts_of(const CLI::Option& option);

/// The options of `group` in the order of addition, or the positional options if `group` is empty. Hidden options are
/// left out.
std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group);
/// Groups that have options; the group of --help is last.
std::vector<std::string> groups_of(const CLI::App& app);

/// The choices, such as `on|off`, if there are any and they are short, else the type; empty for a flag.
std::string value_text(const Facts& facts);
/// The description with the range, the needed options, "repeatable" and the default, and with the choices that
/// value_text() omits.
std::string full_text(const CLI::Option& option, const Facts& facts);

}  // namespace rpcrdma::cli
