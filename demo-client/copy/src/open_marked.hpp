// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rpcrdma::nfs {

/// For openat(2) that has just been refused with EACCES: opens a file that a broken copy left behind, which not even
/// its owner may write (see resume.hpp), and leaves it so. A descriptor, or -1 and errno, which stays EACCES if it is
/// no such file.
int open_marked(int directory, const char* name, int flags) noexcept;

}  // namespace rpcrdma::nfs
