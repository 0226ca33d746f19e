// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <functional>

namespace rpcrdma::nfsd {

/// Identifies an object of an export while the object exists. The inode number alone may not be unique in an export.
/// One example is an overlay file system whose layers are on different file systems: it gives its directories inode
/// numbers of its own, but reports other objects with the inode number and the device of their layer. Another example
/// is btrfs, where each subvolume has inode numbers of its own.
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
