// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Checks that the object of a handle is in the exported tree now.

#include <string>

namespace rpcrdma::nfsd {

enum class Where {
  inside,
  outside,
  /// The kernel shows no path: the inode has not been looked up since it was loaded, is outside the mounted part of its
  /// file system, or has a path that is too long.
  unknown,
};
/// Finds whether the object `fd` is `root` or below it; the object must be a directory or have exactly one name. Stores
/// its path in `*found` if it is inside.
Where where_is(int fd, int root, std::string* found = nullptr);
/// True if the open directory is `root` or below it.
bool is_inside(int directory, int root);
/// True if the mount `mount_id`, which contains `root`, shows only a part of its file system (a bind mount). The kernel
/// then has no path for an object that is moved out of that part. Also true if the mount is not found.
bool shows_a_part(int root, int mount_id);

}  // namespace rpcrdma::nfsd
