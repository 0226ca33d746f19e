// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rpcrdma::nfs {

/// Retries an openat(2) that failed with EACCES, if the file has the mark of an interrupted copy, and thus no write
/// permission (see resume.hpp). Adds the write permission of the owner while it opens the file. Returns a descriptor,
/// or -1 with errno: EACCES for a file without a mark.
int open_marked(int directory, const char* name, int flags) noexcept;

}  // namespace rpcrdma::nfs
