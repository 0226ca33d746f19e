// SPDX-License-Identifier: BSD-3-Clause
#include "commands/owners.hpp"

#include <grp.h>
#include <pwd.h>

namespace rpcrdma::commands {

const std::string& Owners::user(std::uint32_t uid) {
  const auto [at, fresh] = users_.try_emplace(uid);
  if (fresh) {
    const passwd* const entry = ::getpwuid(uid);
    at->second = entry != nullptr ? entry->pw_name : std::to_string(uid);
  }
  return at->second;
}

const std::string& Owners::group(std::uint32_t gid) {
  const auto [at, fresh] = groups_.try_emplace(gid);
  if (fresh) {
    const ::group* const entry = ::getgrgid(gid);
    at->second = entry != nullptr ? entry->gr_name : std::to_string(gid);
  }
  return at->second;
}

}  // namespace rpcrdma::commands
