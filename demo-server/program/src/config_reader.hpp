// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Reads values of a TOML table as C++ values. Keeps the first error as a Refusal that names its line.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

// A file can make assertions of toml++ fail, for example by "[#". The code below them reports the error, but they end
// the program; and with NDEBUG, Clang would assume that they hold.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/program/limits.hpp"

namespace rpcrdma::nfsd {

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  bool good() const noexcept { return refusal_.text.empty(); }
  /// `FILE:LINE: message` of the first error.
  const Refusal& refusal() const noexcept { return refusal_; }
  /// Records the refusal if it is the first. Returns false, for the caller to return.
  bool fail(const toml::source_region& where, std::string_view message) {
    if (good()) refusal_.text = fmt::format("{}: {}", place(where), one_line(message));
    return false;
  }
  /// Formats a position as FILE:LINE.
  std::string place(const toml::source_region& where) const { return fmt::format("{}:{}", file_, where.begin.line); }

  /// Each overload reads `node`, the value of `key`; false if it has another type or a bad value.
  bool take(std::string_view key, const toml::node& node, bool& out) {
    const auto value = node.value_exact<bool>();
    if (!value) return fail(node.source(), fmt::format("{}: not true or false", key));
    out = *value;
    return true;
  }
  bool take(std::string_view key, const toml::node& node, std::string& out) {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) return fail(node.source(), fmt::format("{}: not a string in quotes", key));
    // A NUL would end the string early in system calls.
    if (value->find('\0') != value->npos) return fail(node.source(), fmt::format("{}: the string holds a NUL", key));
    out = *value;
    return true;
  }
  bool take(std::string_view key, const toml::node& node, const NumberRange& range, std::uint32_t& out) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value) return fail(node.source(), fmt::format("{}: not a whole number", key));
    if (*value < range.least || *value > range.most || *value % range.unit != 0)
      return fail(node.source(), describe(key, range));
    out = static_cast<std::uint32_t>(*value);
    return true;
  }
  /// Reads an array of strings, none of them empty.
  bool take(std::string_view key, const toml::node& node, std::vector<std::string>& out,
            const std::function<Checked<void>(const std::string&)>& check) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty())
      return fail(node.source(), fmt::format("{}: not a list, or an empty list", key));
    for (const toml::node& item : *list) {
      if (!take(key, item, out.emplace_back())) return false;
      const auto checked = check(out.back());
      if (!checked) return fail(item.source(), fmt::format("{}: {}", key, checked.error().text));
    }
    return true;
  }

 private:
  /// Keys and values in quotes may hold line ends and other control characters, which a message must not.
  static std::string one_line(std::string_view message) {
    std::string text(message);
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
    return text;
  }
  static std::string describe(std::string_view key, const NumberRange& range) {
    std::string text = fmt::format("{}: not from {} to {}", key, range.least, range.most);
    if (range.unit != 1) text += fmt::format(" in steps of {}", range.unit);
    return text;
  }

  std::string file_;
  Refusal refusal_;
};

/// Reads one [[export]].
bool read_export(ConfigReader& reader, const toml::table& table, ExportSpec& out);

}  // namespace rpcrdma::nfsd
