// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Conversion between the values of NFSv3 and the types that rpcgen generates for the wire.
#include "rpcrdma/nfs/file_handle.hpp"
#include "rpcrdma/nfs/status.hpp"
#include "rpcrdma/nfs/types.hpp"
#include "rpcrdma/xdr/nfs3.h"

namespace rpcrdma::nfs {

inline nfsstat3 to_wire(Status status) noexcept { return static_cast<nfsstat3>(status); }
inline nfstime3 to_wire(const Time& t) noexcept { return {t.seconds, t.nanoseconds}; }
inline Time from_wire(const nfstime3& t) noexcept { return {t.seconds, t.nseconds}; }

/// The conversions with a parameter `fsid` put its value into fattr3::fsid. They ignore Attributes::fsid, which the
/// file systems of the server set to 0.
fattr3 to_wire(const Attributes& a, std::uint64_t fsid) noexcept;
post_op_attr to_wire(const std::optional<Attributes>& a, std::uint64_t fsid) noexcept;
wcc_data to_wire(const Wcc& wcc, std::uint64_t fsid) noexcept;
Attributes from_wire(const fattr3& a) noexcept;
std::optional<Attributes> from_wire(const post_op_attr& a) noexcept;

sattr3 to_wire(const SetAttributes& in) noexcept;
SetAttributes from_wire(const sattr3& in) noexcept;

nfs_fh3 to_wire(const FileHandle& handle) noexcept;
post_op_fh3 optional_handle(const FileHandle& handle) noexcept;
FileHandle from_wire(const nfs_fh3& handle) noexcept;
std::optional<FileHandle> from_wire(const post_op_fh3& handle) noexcept;

/// `name` must outlive the result.
diropargs3 to_wire(const FileHandle& directory, std::string_view name) noexcept;

Verifier from_wire(const writeverf3& verifier) noexcept;
void to_wire(const Verifier& verifier, writeverf3& out) noexcept;

}  // namespace rpcrdma::nfs
