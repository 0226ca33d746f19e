// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/framework/selection.hpp"

#include <algorithm>
#include <utility>

namespace rpcrdma::conform {
namespace {

constexpr std::string_view kBlank = " \t\r";
/// The beginning of a reason that names the pattern of an earlier entry, whose reason it repeats.
constexpr std::string_view kAs = "as ";

/// A pattern with a special character other than `*` and `?` is a regular expression.
bool is_glob(std::string_view pattern) noexcept { return pattern.find_first_of("^$.+()[]{}|\\") == pattern.npos; }

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) noexcept {
  std::size_t g = 0, t = 0, star = glob.npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g, ++t;
    } else if (star != glob.npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == glob.npos;
}

std::optional<std::string> Selection::add(const std::string& pattern) {
  if (pattern.empty()) return "an empty pattern";
  try {
    if (is_glob(pattern)) {
      globs_.push_back(pattern);
      // A pattern without wildcards also selects each id of which it is a part. It is therefore added as a regular
      // expression as well.
      if (pattern.find_first_of("*?") == pattern.npos) expressions_.emplace_back(pattern);
    } else {
      expressions_.emplace_back(pattern);
    }
  } catch (const std::regex_error&) {
    return pattern + ": not a regular expression";
  }
  return std::nullopt;
}

bool Selection::matches(const std::string& id) const {
  if (globs_.empty() && expressions_.empty()) return true;
  return std::ranges::any_of(globs_, [&](const std::string& glob) { return glob_matches(glob, id); }) ||
         std::ranges::any_of(expressions_, [&](const std::regex& each) { return std::regex_search(id, each); });
}

std::optional<std::string> Known::parse(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find_first_of(kBlank);
    if (space == line.npos) return "line " + std::to_string(number) + ": no reason after the id";
    std::string reason(trimmed(line.substr(space)));
    if (reason.starts_with(kAs)) {
      const auto named = std::ranges::find(entries_, std::string_view(reason).substr(kAs.size()), &Entry::pattern);
      if (named != entries_.end()) reason = named->reason;
    }
    entries_.push_back({std::string(line.substr(0, space)), std::move(reason)});
  }
  return std::nullopt;
}

const Known::Entry* Known::find(std::string_view id) const noexcept {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& each) { return glob_matches(each.pattern, id); });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace rpcrdma::conform
