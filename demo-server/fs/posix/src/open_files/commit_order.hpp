// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "system.hpp"

namespace rpcrdma::nfsd {

/// Whether the file system of an open directory has one journal that it writes in order: all changes of names and
/// attributes made before an object are on the disk when that object is. True for ext4 with a journal and for XFS;
/// false for others, for which this is not known.
bool commits_in_order(int directory) noexcept;

/// On such a file system: writes all changes of names and attributes made so far to the disk, with no more data than
/// the journal itself waits for (newly allocated blocks, on ext4 with data=ordered). Status::notsupp if that is not
/// possible.
Status commit_changes(int directory) noexcept;

/// Whether an fsync omits inodes: on ext2 to ext4 without a journal, Linux (6.1; not 6.18) writes only those whose
/// attributes have been set, and not those that are new, have another number of names or, as directories, have grown.
bool forgets_inodes(int directory) noexcept;

}  // namespace rpcrdma::nfsd
