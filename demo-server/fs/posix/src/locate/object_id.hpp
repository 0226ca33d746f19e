// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <functional>

namespace rpcrdma::nfsd {

/// Identifies an object of an export while it exists. An inode number alone is not unique: an overlay whose layers are
/// on different file systems numbers its directories itself, and shows all other objects with the number and device of
/// their layer. Each btrfs subvolume has its own numbers, too.
struct ObjectId {
  std::uint64_t number = 0;
  std::uint64_t device = 0;  ///< in a handle, 0 is the device of the exported directory, which may change at a restart
  friend bool operator==(const ObjectId&, const ObjectId&) = default;
};
struct ObjectIdHash {
  std::size_t operator()(const ObjectId& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.number ^ id.device * 0x9e3779b97f4a7c15u);
  }
};

}  // namespace rpcrdma::nfsd
