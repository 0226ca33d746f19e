// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace rpcrdma::nfsd {

/// A user of a file system. The groups of AUTH_SYS, 16 at most, fit without an allocation.
struct Identity {
  /// The id of a caller without a credential, before squashing. The value is (uid_t)-1, which no user or group has.
  static constexpr std::uint32_t kNone = 0xffffffff;
  /// The id of the user and the group "nobody", which own no files.
  static constexpr std::uint32_t kNobody = 65534;

  std::uint32_t uid = kNobody;
  std::uint32_t gid = kNobody;
  boost::container::small_vector<std::uint32_t, 16> groups;

  bool in_group(std::uint32_t group) const noexcept {
    if (group == gid) return true;
    for (const std::uint32_t g : groups)
      if (g == group) return true;
    return false;
  }
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// How an export maps the ids of its callers.
struct SquashPolicy {
  enum class Mode : std::uint8_t {
    root,  ///< root_squash: uid 0 and gid 0 become the anonymous ids
    all,   ///< all_squash: all callers are anonymous
    none,  ///< no_root_squash: ids are used as claimed
  };
  Mode mode = Mode::root;
  std::uint32_t anonymous_uid = Identity::kNobody;
  std::uint32_t anonymous_gid = Identity::kNobody;
  friend bool operator==(const SquashPolicy&, const SquashPolicy&) = default;
};

/// The identity of `claimed` on an export with `policy`. In every mode, kNone becomes the anonymous id, and an
/// anonymous id of kNone becomes kNobody: the result never holds kNone. In mode `all`, or if `claimed` has no uid, the
/// result is in no group but the anonymous one.
Identity squashed(const Identity& claimed, const SquashPolicy& policy);

}  // namespace rpcrdma::nfsd
