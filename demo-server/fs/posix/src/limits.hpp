// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/file_system.hpp"

namespace rpcrdma::nfsd {

/// The limits of the file system of an open, readable directory.
Limits limits_of(int directory);

}  // namespace rpcrdma::nfsd
