// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "system.hpp"

namespace rpcrdma::nfsd {

/// True if the file system of an open directory has one journal that it writes in order: once an object is on the disk,
/// so are all earlier changes of names and attributes. True for ext4 with a journal and for XFS; false for others, for
/// which this is not known.
bool commits_in_order(int directory) noexcept;

/// Writes all changes of names and attributes made so far to the disk. Requires commits_in_order(). Of the data of
/// files, writes only what the journal itself waits for. On ext4 with data=ordered, this is the data of newly allocated
/// blocks. Returns Status::notsupp if it cannot make the unnamed file that it needs.
Status commit_changes(int directory) noexcept;

/// Returns true if fsync may omit some changed inodes. Before Linux 6.18 (seen with 6.1), fsync does so on ext2, ext3
/// and ext4 without a journal. It omits the inodes of new objects, of objects whose link count has changed, and of
/// directories that have grown. If an attribute of the object is set before fsync, fsync writes the inode too.
bool forgets_inodes(int directory) noexcept;

}  // namespace rpcrdma::nfsd
