// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Properties of an option. Some of them are extracted from the type name of the option, because CLI11 appends the
// descriptions of validators, such as the permitted range, to this name.
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
/// Returns the names of the groups of the options that are neither positional nor hidden. The group of --help is last.
std::vector<std::string> groups_of(const CLI::App& app);

/// The text that stands for the value of the option. It is the list of the choices, such as `on|off`, if there are
/// choices and the list is short. Otherwise it is the type, which is empty for a flag.
std::string value_text(const Facts& facts);
/// Returns the description of the option. Appends the choices, unless value_text() shows them. Then appends those of
/// these facts that apply: the range, the options that must be given too, "repeatable", and the default.
std::string full_text(const CLI::Option& option, const Facts& facts);

}  // namespace rpcrdma::cli
