// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/connection/options.hpp"

#include <utility>

namespace rpcrdma::transport {
namespace {

constexpr std::pair<std::string_view, VersionChoice> kVersions[] = {
    {"1", VersionChoice::one}, {"2", VersionChoice::two}, {"auto", VersionChoice::automatic}};

}  // namespace

std::vector<std::string> version_names() {
  std::vector<std::string> names;
  for (const auto& [name, choice] : kVersions) names.emplace_back(name);
  return names;
}

std::optional<VersionChoice> parse_version(std::string_view text) noexcept {
  for (const auto& [name, choice] : kVersions)
    if (name == text) return choice;
  return std::nullopt;
}

std::string_view name_of(VersionChoice wanted) noexcept {
  for (const auto& [name, choice] : kVersions)
    if (choice == wanted) return name;
  return {};
}

}  // namespace rpcrdma::transport
