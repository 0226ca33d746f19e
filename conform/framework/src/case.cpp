// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/framework/case.hpp"

#include <algorithm>

namespace rpcrdma::conform {
namespace {

bool well_formed(std::string_view id) noexcept {
  const std::size_t slash = id.find('/');
  if (slash == id.npos || slash == 0 || slash + 1 == id.size() || id.find('/', slash + 1) != id.npos) return false;
  return std::ranges::all_of(
      id, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '/'; });
}

}  // namespace

std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::must: return "MUST";
    case Level::should: return "SHOULD";
    case Level::robustness: return "ROBUSTNESS";
  }
  return "";
}

void Suite::add(Case added) {
  const CaseInfo& info = added.info;
  if (!well_formed(info.id)) throw std::invalid_argument(info.id + ": not FAMILY/NAME in lower case");
  if (info.rules.empty() && info.level != Level::robustness)
    throw std::invalid_argument(info.id + ": a MUST or SHOULD must name its rule");
  if (std::ranges::any_of(cases_, [&](const Case& other) { return other.info.id == info.id; }))
    throw std::invalid_argument(info.id + ": there is another case with this id");
  cases_.push_back(std::move(added));
}

}  // namespace rpcrdma::conform
