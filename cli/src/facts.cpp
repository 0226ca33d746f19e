// SPDX-License-Identifier: BSD-3-Clause
#include "facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace rpcrdma::cli {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// True for `on|off` or `1|2|auto`, but not for `SECONDS|off`.
bool lists_choices(std::string_view type) {
  return type.find('|') != type.npos && std::ranges::none_of(type, [](char c) { return std::isupper(c); });
}

/// Moves the choices or the range, such as ":{a,b}" or ":UINT in [1 - 256]", from the end of the type to `choices` or
/// `range`. Copies the choices of a type such as `on|off`.
void take_validator(Facts& facts) {
  std::string& type = facts.type;
  if (const std::size_t list = type.find(":{"); list != type.npos && type.back() == '}') {
    facts.choices = split(std::string_view(type).substr(list + 2, type.size() - list - 3), ',');
    type.resize(list);
  } else if (const std::size_t range = type.find(" in ["); range != type.npos && type.back() == ']') {
    const char* low = type.c_str() + range + 5;
    const std::size_t high = type.find(" - ", range);
    facts.range = fmt::format("{} to {}", std::strtod(low, nullptr), std::strtod(type.c_str() + high + 3, nullptr));
    type.resize(type.rfind(':', range));
  } else if (lists_choices(type)) {
    facts.choices = split(type, '|');
  }
}

}  // namespace

Facts facts_of(const CLI::Option& option) {
  Facts facts;
  for (const CLI::Option* other : option.get_needs()) facts.needs.push_back(other->get_name());
  if (option.get_type_size() == 0) return facts;
  facts.type = option.get_type_name();
  take_validator(facts);
  // A positional option may have no type; its own name is shown then.
  if (facts.type.empty()) facts.type = option.get_name(true);
  facts.value = option.get_default_str();
  facts.repeats = option.get_expected_max() > 1;
  return facts;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group) {
  return app.get_options([&group](const CLI::Option* option) {
    return group.empty() ? option->get_positional() : option->nonpositional() && option->get_group() == group;
  });
}

std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups = app.get_groups();
  std::erase_if(groups, [&app](const std::string& group) { return group.empty() || options_of(app, group).empty(); });
  // Moves the group of --help, which CLI11 puts first, to the end.
  std::stable_partition(groups.begin(), groups.end(), [&app](const std::string& group) {
    return app.get_help_ptr() == nullptr || group != app.get_help_ptr()->get_group();
  });
  return groups;
}

std::string value_text(const Facts& facts) {
  const std::string choices = fmt::format("{}", fmt::join(facts.choices, "|"));
  constexpr std::size_t kShort = 32;
  return facts.choices.empty() || choices.size() > kShort ? facts.type : choices;
}

std::string full_text(const CLI::Option& option, const Facts& facts) {
  std::string text = option.get_description();
  if (!facts.choices.empty() && value_text(facts) == facts.type && !lists_choices(facts.type))
    text += fmt::format(": {}", fmt::join(facts.choices, ", "));
  if (!facts.range.empty()) text += fmt::format(" ({})", facts.range);
  if (!facts.needs.empty()) text += fmt::format("; needs {}", fmt::join(facts.needs, ", "));
  if (facts.repeats && option.nonpositional()) text += "; repeatable";
  if (!facts.value.empty()) text += fmt::format(" [{}]", facts.value);
  return text;
}

}  // namespace rpcrdma::cli
