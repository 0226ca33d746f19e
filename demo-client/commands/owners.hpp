// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace rpcrdma::commands {

/// Names of users and groups from the local databases, or numbers if they have no name. Caches the results.
class Owners {
 public:
  const std::string& user(std::uint32_t uid);
  const std::string& group(std::uint32_t gid);

 private:
  std::map<std::uint32_t, std::string> users_;
  std::map<std::uint32_t, std::string> groups_;
};

}  // namespace rpcrdma::commands
