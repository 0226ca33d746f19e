// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "system.hpp"

namespace rpcrdma::nfsd {

/// Whether the file system of an open directory has one journal that it writes in order: whatever has been done to
/// names and attributes before an object was made is on the disk when that object is. True of ext4 with a journal, and
/// of XFS; of others it is not known, and false.
bool commits_in_order(int directory) noexcept;

/// There: brings all changes of names and attributes made so far to the disk, with no more data than the journal itself
/// waits for (that of blocks newly given to files, on ext4 with data=ordered). Status::notsupp if it cannot be done
/// this way.
Status commit_changes(int directory) noexcept;

/// ext2 to ext4 without a journal: Linux (6.1; not 6.18) writes there at an fsync only inodes whose attributes have
/// been set, and not those that are new, have another number of names or, as directories do, have grown.
bool forgets_inodes(int directory) noexcept;

}  // namespace rpcrdma::nfsd
