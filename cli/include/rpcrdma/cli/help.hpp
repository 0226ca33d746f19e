// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The help of all programs: one layout on the terminal, and the same data for manual pages and shell completion.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rpcrdma::cli {

/// A word of the command line, a signal or a whole command, with its meaning.
struct Entry {
  std::string term;
  std::string text;
};

/// A part of the help after the options, such as "Signals" or "Examples".
struct Section {
  std::string title;
  std::vector<Entry> entries;
};

/// Call this once all options and subcommands of a program have been added. Gives `app` and its subcommands the layout,
/// with `sections` after the options of `app`. Adds the hidden option --describe, which prints the command line and the
/// sections as one JSON object for packaging/generate. The footer of a subcommand is its example. Choices are taken
/// from CLI::IsMember or from a type name such as `on|off`, ranges from CLI::Range, and defaults from default_str().
void finish(CLI::App& app, std::vector<Section> sections);

}  // namespace rpcrdma::cli
