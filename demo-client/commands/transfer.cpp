// SPDX-License-Identifier: BSD-3-Clause
#include "commands/transfer.hpp"

namespace rpcrdma::commands {
namespace {

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

std::string entry_name(std::string_view path) {
  path = without_trailing_slashes(path);
  const std::string name(path.substr(path.rfind('/') + 1));
  return nfs::is_plain_name(name) ? name : std::string();
}

std::string parent_path(std::string_view path) {
  path = without_trailing_slashes(path);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  const std::string_view parent = without_trailing_slashes(path.substr(0, slash + 1));
  return std::string(parent);
}

}  // namespace rpcrdma::commands
