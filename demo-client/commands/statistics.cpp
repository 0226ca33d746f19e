// SPDX-License-Identifier: BSD-3-Clause
#include "commands/statistics.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace rpcrdma::commands {

int run_statistics(const std::string& address, bool json) {
  const std::array<const char*, 6> arguments{"rpcrdma-top", "--once",        json ? "--json" : "--once",
                                             "--",          address.c_str(), nullptr};
  auto* const argv = const_cast<char* const*>(arguments.data());
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) ::execv((self.parent_path() / arguments[0]).c_str(), argv);
  ::execvp(arguments[0], argv);
  fmt::print(stderr, "rpcrdma-nfs: stats: cannot run {}: {}\n", arguments[0], std::strerror(errno));
  return 1;
}

}  // namespace rpcrdma::commands
