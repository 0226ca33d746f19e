// SPDX-License-Identifier: BSD-3-Clause
#include "script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rpcrdma::proxy {
namespace {

using Refusal = std::optional<std::string>;
using Names = std::span<const std::string_view>;

constexpr std::uint32_t kMaxTime = 60000;  // milliseconds
constexpr std::uint32_t kLarge = 1u << 30;
constexpr std::uint32_t kFirstProcedure = 8;  // CREATE
constexpr std::array<std::string_view, 8> kProcedureNames{"create", "mkdir", "symlink", "mknod",
                                                          "remove", "rmdir", "rename",  "link"};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<std::size_t> index_of(Names names, std::string_view word) {
  const auto at = std::find(names.begin(), names.end(), word);
  if (at == names.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names.begin());
}

template <class Number>
bool parse_number(std::string_view text, Number least, Number most, Number& out) {
  Number value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
  out = value;
  return true;
}

/// One NAME=VALUE of a rule. The functions set_... return whether the value is right.
struct Setting {
  std::string_view name, value;
};

bool set_number(std::string_view value, std::uint32_t least, std::uint32_t most, std::uint32_t& out) {
  return parse_number(value, least, most, out);
}

bool set_direction(std::string_view value, Rule& rule) {
  if (value != "to-server" && value != "to-client") return false;
  rule.side = value == "to-server" ? Side::to_server : Side::to_client;
  return true;
}

bool set_choice(std::string_view value, std::string_view no, std::string_view yes, bool& out) {
  out = value == yes;
  return out || value == no;
}

bool set_size(std::string_view value, Rule& rule) {
  if (value == "random") {
    rule.size = 0;
    return true;
  }
  return set_number(value, 1, kMaxFrame, rule.size);
}

bool set_time(std::string_view value, Rule& rule) {
  std::uint32_t time = 0;
  if (!set_number(value, 1, kMaxTime, time)) return false;
  rule.time = std::chrono::milliseconds(time);
  return true;
}

bool set_field(std::string_view value, Rule& rule) {
  const auto index = index_of(kFieldNames, value);
  if (index) rule.field = static_cast<Field>(*index);
  return index.has_value();
}

/// Whether an action has this setting, in addition to the settings of every rule.
bool has_setting(Action action, std::string_view name) {
  switch (action) {
    case Action::cut: return name == "after" || name == "how";
    case Action::delay: return name == "ms" || name == "count";
    case Action::hold: return name == "ms" || name == "bytes";
    case Action::split: return name == "size" || name == "count";
    case Action::join: return name == "ms" || name == "count";
    case Action::flip: return name == "bit" || name == "field" || name == "crc";
    case Action::credits: return name == "grant" || name == "count";
    case Action::drop_reply: return false;
  }
  return false;
}

bool set_value(Rule& rule, const Setting& setting) {
  const auto [name, value] = setting;
  if (name == "dir") return set_direction(value, rule);
  if (name == "connection") return set_number(value, 1, kLarge, rule.connection);
  if (name == "times") return set_number(value, 1, kLarge, rule.times);
  if (name == "count") return set_number(value, 1, kLarge, rule.count);
  if (name == "after") return set_number(value, 0, kLarge, rule.after);
  if (name == "how") return set_choice(value, "close", "reset", rule.reset);
  if (name == "ms") return set_time(value, rule);
  if (name == "bytes") return parse_number<std::uint64_t>(value, 1, UINT64_MAX, rule.bytes);
  if (name == "size") return set_size(value, rule);
  if (name == "field") return set_field(value, rule);
  if (name == "crc") return set_choice(value, "keep", "fix", rule.fix_crc);
  if (name == "grant") return set_number(value, 0, UINT32_MAX, rule.grant);
  std::uint32_t bit = 0;  // the only setting left is "bit"
  if (!set_number(value, 0, kMaxFrame * 8, bit)) return false;
  rule.bit = bit;
  return true;
}

Refusal add_setting(Rule& rule, std::string_view word) {
  const std::size_t equals = word.find('=');
  const Setting setting{word.substr(0, equals), equals == word.npos ? "" : word.substr(equals + 1)};
  const bool common = setting.name == "dir" || setting.name == "connection" || setting.name == "times";
  const bool fixed = rule.action == Action::drop_reply && setting.name == "dir";
  if (equals == word.npos || fixed || (!common && !has_setting(rule.action, setting.name)))
    return fmt::format("{} has no setting '{}'", name_of(rule.action), word);
  if (!set_value(rule, setting)) return fmt::format("not a value of {}: '{}'", setting.name, setting.value);
  return std::nullopt;
}

/// Parses the word after the action: a kind of message or, after drop-reply, a procedure; or "any". Returns false for
/// other words.
bool set_kind(Rule& rule, std::string_view word) {
  if (rule.action == Action::drop_reply) {
    const auto index = index_of(kProcedureNames, word);
    if (index) rule.procedure = kFirstProcedure + static_cast<std::uint32_t>(*index);
    return index || word == "any";
  }
  const auto index = index_of(kKindNames, word);
  if (index) rule.kind = static_cast<Kind>(*index);
  return index || word == "any";
}

Refusal check(const Rule& rule) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} needs {}", name_of(rule.action), what); };
  if (rule.action == Action::delay && rule.time.count() == 0) return needs("ms=");
  if (rule.action == Action::hold && rule.time.count() == 0) return needs("ms=, also with bytes=");
  if (rule.action == Action::flip && rule.bit && rule.field != Field::any) return "flip takes bit= or field=, not both";
  if (rule.action == Action::credits && (rule.kind != Kind::reply && rule.kind != Kind::call))
    return "credits takes only the kinds call and reply";
  return std::nullopt;
}

bool set_without(std::string_view value, RandomRule& random) {
  const auto index = index_of(kKindNames, value);
  if (index) random.without = static_cast<Kind>(*index);
  return index.has_value();
}

Refusal add_random(std::span<const std::string_view> settings, Script& script) {
  RandomRule random;
  for (const std::string_view word : settings) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals), value = equals == word.npos ? "" : word.substr(equals + 1);
    const bool is_number = name == "connections" || name == "each";
    if (!is_number && name != "start-up" && name != "without") return fmt::format("random has no setting '{}'", word);
    if (name == "without"    ? !set_without(value, random)
        : name == "start-up" ? !set_choice(value, "no", "yes", random.start_up)
                             : !set_number(value, 1, 1000, name == "each" ? random.each : random.connections))
      return fmt::format("not a value of {}: '{}'", name, value);
  }
  script.random = random;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> add_rule(std::string_view line, Script& script) {
  const auto words = words_of(line);
  if (words.empty()) return "empty";
  std::span<const std::string_view> rest(words);
  rest = rest.subspan(1);
  if (words[0] == "random") return add_random(rest, script);
  const auto action = index_of(kActionNames, words[0]);
  if (!action) return fmt::format("not an action: '{}'", words[0]);
  Rule rule;
  rule.action = static_cast<Action>(*action);
  if (rule.action == Action::join) rule.time = std::chrono::milliseconds(20);
  if (rest.empty() || !set_kind(rule, rest[0]))
    return fmt::format("{}: '{}' is neither a {} nor any", words[0], rest.empty() ? "" : rest[0],
                       rule.action == Action::drop_reply ? "non-idempotent procedure" : "kind of message");
  rest = rest.subspan(1);
  if (!rest.empty() && rest[0].find('=') == std::string_view::npos) {
    if (!set_number(rest[0], 1, kLarge, rule.nth)) return fmt::format("not the number of a message: '{}'", rest[0]);
    rest = rest.subspan(1);
  }
  for (const std::string_view word : rest)
    if (auto refusal = add_setting(rule, word)) return refusal;
  if (auto refusal = check(rule)) return refusal;
  script.rules.push_back(rule);
  return std::nullopt;
}

std::optional<std::string> add_rules(std::string_view text, Script& script) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (words_of(line).empty()) continue;
    if (const auto refusal = add_rule(line, script)) return fmt::format("line {}: {}", number, *refusal);
  }
  return std::nullopt;
}

std::string to_text(const Rule& rule) {
  const Rule defaults;
  const auto procedure = [&] { return rule.procedure ? kProcedureNames[*rule.procedure - kFirstProcedure] : "any"; };
  std::string out = fmt::format("{} {} {}", name_of(rule.action),
                                rule.action == Action::drop_reply ? procedure()
                                : rule.kind                       ? name_of(*rule.kind)
                                                                  : "any",
                                rule.nth);
  const auto add = [&out](bool wanted, std::string_view name, const auto& value) {
    if (wanted) out += fmt::format(" {}={}", name, value);
  };
  const auto takes = [&](std::string_view name) { return has_setting(rule.action, name); };
  add(takes("count") && rule.count != defaults.count, "count", rule.count);
  add(rule.side.has_value(), "dir", rule.side == Side::to_client ? "to-client" : "to-server");
  add(takes("after") && rule.after != 0, "after", rule.after);
  add(takes("how") && rule.reset, "how", "reset");
  add(takes("ms"), "ms", rule.time.count());
  add(takes("bytes") && rule.bytes != 0, "bytes", rule.bytes);
  add(takes("size"), "size", rule.size == 0 ? "random" : std::to_string(rule.size));
  add(takes("field") && rule.field != Field::any, "field", kFieldNames[static_cast<std::size_t>(rule.field)]);
  add(rule.bit.has_value(), "bit", rule.bit.value_or(0));
  add(takes("crc"), "crc", rule.fix_crc ? "fix" : "keep");
  add(takes("grant"), "grant", rule.grant);
  add(rule.connection != 0, "connection", rule.connection);
  add(rule.times != defaults.times, "times", rule.times);
  return out;
}

}  // namespace rpcrdma::proxy
