// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/fs/names.hpp"

namespace rpcrdma::nfsd {

Status check_component(std::string_view name) noexcept {
  if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos) return Status::acces;
  return name.size() > kMaxName ? Status::nametoolong : Status::ok;
}

Status check_new_name(std::string_view name) noexcept {
  return is_dot(name) || is_dot_dot(name) ? Status::exist : check_component(name);
}

Status check_old_name(std::string_view name) noexcept {
  return is_dot(name) || is_dot_dot(name) ? Status::inval : check_component(name);
}

Status check_rmdir_name(std::string_view name) noexcept {
  if (is_dot(name)) return Status::inval;
  return is_dot_dot(name) ? Status::exist : check_component(name);
}

Status check_target(std::string_view target) noexcept {
  if (target.empty() || target.find('\0') != target.npos) return Status::inval;
  return target.size() > kMaxTarget ? Status::nametoolong : Status::ok;
}

}  // namespace rpcrdma::nfsd
