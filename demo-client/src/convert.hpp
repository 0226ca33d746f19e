// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Between the client's values and those that rpcgen made.
#include "rpcrdma/nfs/types.hpp"
#include "rpcrdma/xdr/nfs3.h"

namespace rpcrdma::nfs {

nfs_fh3 to_xdr(const FileHandle& handle) noexcept;
FileHandle from_xdr(const nfs_fh3& handle) noexcept;
/// `name` outlives the result.
diropargs3 to_xdr(const FileHandle& directory, std::string_view name) noexcept;
sattr3 to_xdr(const SetAttributes& attributes) noexcept;
Attributes from_xdr(const fattr3& attributes) noexcept;
std::optional<Attributes> from_xdr(const post_op_attr& attributes) noexcept;
std::optional<FileHandle> from_xdr(const post_op_fh3& handle) noexcept;

}  // namespace rpcrdma::nfs
