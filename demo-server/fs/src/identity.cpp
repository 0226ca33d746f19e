// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/fs/identity.hpp"

namespace rpcrdma::nfsd {
namespace {

std::uint32_t some(std::uint32_t id) noexcept { return id == Identity::kNone ? Identity::kNobody : id; }

}  // namespace

Identity squashed(const Identity& claimed, const SquashPolicy& policy) {
  Identity result;
  result.uid = some(policy.anonymous_uid);
  result.gid = some(policy.anonymous_gid);
  if (policy.mode == SquashPolicy::Mode::all || claimed.uid == Identity::kNone) return result;
  const auto taken = [&](std::uint32_t id, std::uint32_t anonymous) {
    const bool root = id == 0 && policy.mode == SquashPolicy::Mode::root;
    return root || id == Identity::kNone ? anonymous : id;
  };
  result.uid = taken(claimed.uid, result.uid);
  const std::uint32_t anonymous_gid = result.gid;
  result.gid = taken(claimed.gid, anonymous_gid);
  for (const std::uint32_t group : claimed.groups) result.groups.push_back(taken(group, anonymous_gid));
  return result;
}

}  // namespace rpcrdma::nfsd
