// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::conform {

/// Whether `text` matches `glob`, in which `*` stands for any characters and `?` for one.
bool glob_matches(std::string_view glob, std::string_view text) noexcept;

/// The cases that --only names. A pattern with `*` or `?` and no other special character, such as `header/*`, is a glob
/// of whole ids. Any other pattern is a regular expression (ECMAScript) that is found in the id. Without patterns all
/// cases are selected.
class Selection {
 public:
  /// Adds a pattern. Returns an error message, or nothing.
  std::optional<std::string> add(const std::string& pattern);
  bool matches(const std::string& id) const;

 private:
  std::vector<std::string> globs_;
  std::vector<std::regex> expressions_;
};

/// The known divergences of the peer: the cases that the user of the tester permits to fail, each with a reason.
class Known {
 public:
  struct Entry {
    std::string pattern;  ///< an id or a glob
    std::string reason;
  };
  /// Parses lines of a pattern and a reason, separated by white space; `#` begins a comment line. The reason
  /// "as PATTERN" stands for the reason of the earlier line with this pattern. Returns an error message with the number
  /// of the line, or nothing.
  std::optional<std::string> parse(std::string_view text);
  /// The entry that permits `id` to fail; null if there is none.
  const Entry* find(std::string_view id) const noexcept;
  const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace rpcrdma::conform
