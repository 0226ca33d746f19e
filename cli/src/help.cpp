// SPDX-License-Identifier: BSD-3-Clause
// The layout of --help.
#include "rpcrdma/cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "describe.hpp"
#include "facts.hpp"

namespace rpcrdma::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 30;

/// Appends `text`, broken between words: the first line begins at column `at`, later lines at `indent`.
void append_wrapped(std::string& out, std::string_view text, std::size_t at, std::size_t indent) {
  while (!text.empty()) {
    const std::size_t word = std::min(text.find(' '), text.size());
    if (at > indent && at + 1 + word > kWidth) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += text.substr(0, word);
    at += word;
    text.remove_prefix(std::min(word + 1, text.size()));
  }
  out += '\n';
}

void append_entry(std::string& out, const std::string& term, const std::string& text, bool below) {
  std::string line = "  " + term;
  if (text.empty()) {
    out += line + '\n';
    return;
  }
  const std::size_t indent = below ? 6 : kColumn;
  if (below || line.size() + 2 > kColumn) {
    out += line + '\n' + std::string(indent, ' ');
  } else {
    line.resize(kColumn, ' ');
    out += line;
  }
  append_wrapped(out, text, indent, indent);
}

std::string option_term(const CLI::Option& option) {
  const Facts facts = facts_of(option);
  std::string term = option.nonpositional() ? option.get_name(false, true) : option.get_name(true);
  if (const std::size_t comma = term.find(','); comma != term.npos) term.insert(comma + 1, " ");
  const std::string value = option.nonpositional() ? value_text(facts) : "";
  return value.empty() ? term : term + ' ' + value;
}

void append_options(std::string& out, const std::string& title, const std::vector<const CLI::Option*>& options) {
  if (options.empty()) return;
  out += '\n' + title + ":\n";
  for (const CLI::Option* option : options)
    append_entry(out, option_term(*option), full_text(*option, facts_of(*option)), false);
}

void append_section(std::string& out, const Section& section) {
  out += '\n' + section.title + ":\n";
  const bool below = std::ranges::any_of(
      section.entries, [](const Entry& entry) { return !entry.text.empty() && entry.term.size() + 4 > kColumn; });
  for (const Entry& entry : section.entries) append_entry(out, entry.term, entry.text, below);
}

class Layout : public CLI::Formatter {
 public:
  explicit Layout(std::vector<Section> sections) : sections_(std::move(sections)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string out = usage_of(*app, name) + "\n\n" + app->get_description() + '\n';
    append_options(out, "Arguments", options_of(*app, ""));
    for (const std::string& group : groups_of(*app)) append_options(out, group, options_of(*app, group));
    const auto commands = app->get_subcommands({});
    if (!commands.empty()) out += "\nCommands (COMMAND --help for more):\n";
    for (const CLI::App* command : commands) append_entry(out, command->get_name(), command->get_description(), false);
    if (!app->get_footer().empty()) append_section(out, {"Example", {{app->get_footer(), ""}}});
    if (app->get_parent() == nullptr)
      for (const Section& section : sections_) append_section(out, section);
    return out;
  }

 private:
  std::vector<Section> sections_;
};

void lay_out(CLI::App& app, const std::shared_ptr<Layout>& layout) {
  app.formatter(layout);
  if (app.get_help_ptr() != nullptr) app.get_help_ptr()->description("Print this help and exit");
  for (CLI::App* command : app.get_subcommands({})) lay_out(*command, layout);
}

}  // namespace

void finish(CLI::App& app, std::vector<Section> sections) {
  app.add_flag_callback(
         "--describe", [&app, sections] { throw CLI::CallForVersion(describe(app, sections), 0); }, "")
      ->group("");
  lay_out(app, std::make_shared<Layout>(std::move(sections)));
}

}  // namespace rpcrdma::cli
