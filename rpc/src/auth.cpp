// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/auth.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

namespace rpcrdma::rpc {

Credential Credential::sys(std::uint32_t uid, std::uint32_t gid, std::span<const std::uint32_t> gids,
                           std::string_view machine, std::uint32_t stamp) noexcept {
  Credential credential;
  credential.flavor = AuthFlavor::sys;
  credential.stamp = stamp;
  credential.uid = uid;
  credential.gid = gid;
  credential.set_gids(gids);
  credential.set_machine(machine);
  return credential;
}

Credential Credential::of_process() {
  std::array<char, kMaxMachineName + 1> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return sys(geteuid(), getegid(), groups, host.data());
}

void Credential::set_gids(std::span<const std::uint32_t> gids) noexcept {
  gid_count_ = static_cast<std::uint32_t>(std::min<std::size_t>(gids.size(), kMaxGids));
  std::copy_n(gids.begin(), gid_count_, gids_.begin());
}

void Credential::set_machine(std::string_view machine) noexcept {
  machine_length_ = static_cast<std::uint32_t>(std::min<std::size_t>(machine.size(), kMaxMachineName));
  std::copy_n(machine.begin(), machine_length_, machine_.begin());
}

}  // namespace rpcrdma::rpc
