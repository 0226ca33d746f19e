// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/conform/codec/nfs.hpp"
#include "rpcrdma/conform/server/tester.hpp"

namespace rpcrdma::conform {

/// Mounts the export at the MOUNT service on a TCP port of the server. Throws CaseFailed.
nfs::Mount mount_over_tcp(const ServerOptions& options);

}  // namespace rpcrdma::conform
