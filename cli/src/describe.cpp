// SPDX-License-Identifier: BSD-3-Clause
#include "describe.hpp"

#include <fmt/format.h>

#include "facts.hpp"

namespace rpcrdma::cli {
namespace {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

/// A JSON array of the results of `text_of` for each item.
template <class List, class TextOf>
std::string array_of(const List& list, TextOf text_of) {
  std::string out = "[";
  for (const auto& item : list) {
    if (out.size() > 1) out += ",";
    out += text_of(item);
  }
  return out + "]";
}

std::string option_text(const CLI::Option* option) {
  const Facts facts = facts_of(*option);
  std::vector<std::string> names;
  for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option->get_name(true));
  return fmt::format(
      R"({{"names":{},"group":{},"type":{},"value":{},"choices":{},"text":{},"about":{},"required":{},"repeats":{}}})",
      array_of(names, json_text), json_text(option->get_group()), json_text(facts.type), json_text(value_text(facts)),
      array_of(facts.choices, json_text), json_text(full_text(*option, facts)), json_text(option->get_description()),
      option->get_required(), facts.repeats);
}

std::string section_text(const Section& section) {
  const auto entry_text = [](const Entry& entry) {
    return fmt::format(R"({{"term":{},"text":{}}})", json_text(entry.term), json_text(entry.text));
  };
  return fmt::format(R"({{"title":{},"entries":{}}})", json_text(section.title), array_of(section.entries, entry_text));
}

}  // namespace

std::string usage_of(const CLI::App& app, const std::string& name) {
  std::string out = "Usage: " + name + " [OPTION]...";
  for (const CLI::Option* option : options_of(app, "")) {
    const std::string word = option->get_name(true) + (facts_of(*option).repeats ? "..." : "");
    out += option->get_required() ? ' ' + word : " [" + word + ']';
  }
  if (!app.get_subcommands({}).empty()) out += " COMMAND [ARGUMENT]...";
  return out;
}

std::string describe(const CLI::App& app, const std::vector<Section>& sections) {
  std::vector<const CLI::Option*> options;
  for (const std::string& group : groups_of(app))
    for (const CLI::Option* option : options_of(app, group)) options.push_back(option);
  const auto command_text = [](const CLI::App* command) { return describe(*command, {}); };
  const std::string usage = usage_of(app, app.get_name()).substr(sizeof "Usage: " - 1);
  return fmt::format(
      R"({{"name":{},"about":{},"usage":{},"example":{},"options":{},"arguments":{},"commands":{},"sections":{}}})",
      json_text(app.get_name()), json_text(app.get_description()), json_text(usage), json_text(app.get_footer()),
      array_of(options, option_text), array_of(options_of(app, ""), option_text),
      array_of(app.get_subcommands({}), command_text), array_of(sections, section_text));
}

}  // namespace rpcrdma::cli
