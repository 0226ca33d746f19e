// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Checks that the object of a handle is in the exported tree now.

#include <string>
#include <string_view>

namespace rpcrdma::nfsd {

/// The suffix that the kernel appends to the path of a name that has been removed.
inline constexpr std::string_view kDeleted = " (deleted)";

enum class Where {
  inside,
  outside,
  /// The kernel reports no usable path for the object. This is so if the kernel has loaded the inode without a look-up
  /// of its name, if the object is outside the mounted part of its file system, or if the path is too long. Also if the
  /// path ends in kDeleted: the object may have other names, which the kernel does not show.
  unknown,
};
/// Finds out from the path that the kernel shows for `fd` whether the object is `root` or below it. The kernel shows
/// only one path: if the object has several names, the result is valid only for the name in this path. If the object is
/// inside and `found` is not null, stores the path in `*found`.
Where where_is(int fd, int root, std::string* found = nullptr);
/// True if the open directory is `root` or below it.
bool is_inside(int directory, int root);
/// Returns true if the mount `mount_id`, on which `root` is, shows only a part of its file system, as a bind mount of a
/// subdirectory does. The kernel then reports no path for an object that is moved out of this part. Also returns true
/// if the mount is not found. Returns false for a mount of a whole btrfs subvolume, because objects cannot be moved out
/// of a subvolume.
bool shows_a_part(int root, int mount_id);

}  // namespace rpcrdma::nfsd
