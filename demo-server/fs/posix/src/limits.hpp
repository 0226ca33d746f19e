// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/file_system.hpp"

namespace rpcrdma::nfsd {

/// What the file system of an open, readable directory can hold.
Limits limits_of(int directory);

}  // namespace rpcrdma::nfsd
