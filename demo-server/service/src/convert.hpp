// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Conversions between NFSv3's types on the wire (rpcgen's) and those of the file systems, and the caller's identity.
#include "rpcrdma/nfs/convert.hpp"
#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/rpc/auth.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace rpcrdma::nfsd {

using nfs::from_wire;
using nfs::optional_handle;
using nfs::to_wire;

/// The identity under which the export serves the caller. AUTH_NONE is anonymous.
Caller caller_of(const rpc::Credential& credential, const ExportPolicy& policy);

}  // namespace rpcrdma::nfsd
