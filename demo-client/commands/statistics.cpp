// SPDX-License-Identifier: BSD-3-Clause
#include "commands/statistics.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "rpcrdma/base/print_error.hpp"

namespace rpcrdma::commands {

int run_statistics(const std::string& address, bool once, bool json) {
  std::vector<const char*> arguments{"rpcrdma-top"};
  if (once) arguments.push_back("--once");
  if (json) arguments.push_back("--json");
  arguments.insert(arguments.end(), {"--", address.c_str(), nullptr});
  auto* const argv = const_cast<char* const*>(arguments.data());
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) ::execv((self.parent_path() / arguments[0]).c_str(), argv);
  ::execvp(arguments[0], argv);
  print_error("rpcrdma-nfs: stats: cannot run {}: {}\n", arguments[0], std::strerror(errno));
  return 1;
}

}  // namespace rpcrdma::commands
