// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Values of a TOML table as C++ values, with the place of the first one that is wrong.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/program/limits.hpp"

namespace rpcrdma::nfsd {

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  /// `FILE:LINE: message` of the first error; empty: none.
  const std::string& why() const noexcept { return why_; }
  bool fail(const toml::source_region& where, std::string_view message) {
    if (why_.empty()) why_ = fmt::format("{}: {}", place(where), message);
    return false;
  }
  /// FILE:LINE.
  std::string place(const toml::source_region& where) const { return fmt::format("{}:{}", file_, where.begin.line); }

  /// Each takes `node`, the value of `key`.
  bool take(std::string_view key, const toml::node& node, bool& out) {
    const auto value = node.value_exact<bool>();
    if (!value) return fail(node.source(), fmt::format("{}: true or false is wanted", key));
    out = *value;
    return true;
  }
  bool take(std::string_view key, const toml::node& node, std::string& out) {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) return fail(node.source(), fmt::format("{}: a text in quotes is wanted", key));
    // A NUL would end the text early for the system's calls.
    if (value->find('\0') != value->npos) return fail(node.source(), fmt::format("{}: a NUL in the text", key));
    out = *value;
    return true;
  }
  bool take(std::string_view key, const toml::node& node, const NumberRange& range, std::uint32_t& out) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value) return fail(node.source(), fmt::format("{}: a whole number is wanted", key));
    if (*value < range.least || *value > range.most || *value % range.unit != 0)
      return fail(node.source(), describe(key, range));
    out = static_cast<std::uint32_t>(*value);
    return true;
  }
  /// An array of texts, none empty.
  bool take(std::string_view key, const toml::node& node, std::vector<std::string>& out,
            const std::function<bool(const std::string&, std::string&)>& check) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty())
      return fail(node.source(), fmt::format("{}: a list is wanted, not empty", key));
    for (const toml::node& item : *list) {
      std::string why;
      if (!take(key, item, out.emplace_back())) return false;
      if (!check(out.back(), why)) return fail(item.source(), fmt::format("{}: {}", key, why));
    }
    return true;
  }

 private:
  static std::string describe(std::string_view key, const NumberRange& range) {
    std::string text = fmt::format("{}: from {} to {} is wanted", key, range.least, range.most);
    if (range.unit != 1) text += fmt::format(", in steps of {}", range.unit);
    return text;
  }

  std::string file_;
  std::string why_;
};

/// Reads one [[export]].
bool read_export(ConfigReader& reader, const toml::table& table, ExportSpec& out);

}  // namespace rpcrdma::nfsd
