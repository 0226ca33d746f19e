// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Whether the object of a handle lies in the exported tree now.

namespace rpcrdma::nfsd {

enum class Where {
  inside,
  outside,
  /// The kernel shows no path: the inode has not been looked up since it was loaded, lies outside of the part of a file
  /// system that the mount shows, or has a path that is too long.
  unknown,
};
/// For an object with one name, other than the root.
Where where_is(int fd, int root);
/// Whether the open directory is `root` or lies below it.
bool is_inside(int directory, int root);
/// Whether the mount `mount_id`, which holds `root`, shows only a part of its file system (a bind mount): the kernel
/// then has no path for an object that is moved out of that part.
bool shows_a_part(int root, int mount_id);

}  // namespace rpcrdma::nfsd
