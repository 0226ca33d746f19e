// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Whether what a handle names lies in the exported tree, now.

namespace rpcrdma::nfsd {

enum class Where {
  inside,
  outside,
  /// The kernel shows no path: of an inode that nobody has looked up since it was loaded, of what lies outside of the
  /// part of a file system that a mount shows, or of one that is too long.
  unknown,
};
/// Of an object with one name, other than the root.
Where where_is(int fd, int root);
/// Whether the open directory is `root` or lies below it.
bool is_inside(int directory, int root);
/// Whether that mount, of `root`, shows only a part of its file system (a bind mount): the kernel has no path then for
/// what is moved out of that part.
bool shows_a_part(int root, int mount_id);

}  // namespace rpcrdma::nfsd
