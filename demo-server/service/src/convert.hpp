// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Conversions between NFSv3's types on the wire (rpcgen's) and those of the file systems.
#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/rpc/auth.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace rpcrdma::nfsd {

inline nfsstat3 to_wire(Status status) noexcept { return static_cast<nfsstat3>(status); }
inline nfstime3 to_wire(const Time& t) noexcept { return {t.seconds, t.nanoseconds}; }
inline Time from_wire(const nfstime3& t) noexcept { return {t.seconds, t.nseconds}; }

fattr3 to_wire(const Attributes& a, std::uint64_t fsid) noexcept;
post_op_attr to_wire(const std::optional<Attributes>& a, std::uint64_t fsid) noexcept;
wcc_data to_wire(const Wcc& wcc, std::uint64_t fsid) noexcept;
nfs_fh3 to_wire(const FileHandle& handle) noexcept;
post_op_fh3 optional_handle(const FileHandle& handle) noexcept;
SetAttributes from_wire(const sattr3& in) noexcept;

/// The identity under which the export serves the caller. AUTH_NONE is anonymous.
Caller caller_of(const rpc::Credential& credential, const ExportPolicy& policy);

}  // namespace rpcrdma::nfsd
