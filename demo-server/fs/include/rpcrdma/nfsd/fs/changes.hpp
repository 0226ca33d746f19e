// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Checks the times that a SETATTR or the creation of an object sets. Returns Status::inval if one of them is invalid,
/// and Status::ok otherwise.
Status check_times(const SetAttributes& changes) noexcept;

/// Checks a SETATTR of an object of type `type`. Returns Status::inval if a time is invalid. Only regular files
/// have a size that can be set. If `changes` sets the size of another object, returns Status::isdir for a directory,
/// and Status::inval for any other type. Returns Status::ok if `changes` is valid.
Status check_changes(const SetAttributes& changes, FileType type) noexcept;

/// Returns `changes`, but without the mode if `type` is a symbolic link, whose mode has no meaning. Clients send this
/// mode together with owner and times (lchmod(2) of BSD, tar), so it must not make the request fail. The NFS server of
/// Linux ignores it too.
SetAttributes without_moot(const SetAttributes& changes, FileType type) noexcept;

/// True if `changes` sets any attribute.
bool changes_anything(const SetAttributes& changes) noexcept;

namespace mode {
inline constexpr std::uint32_t kAll = 07777;
inline constexpr std::uint32_t kSetUid = 04000;
inline constexpr std::uint32_t kSetGid = 02000;
inline constexpr std::uint32_t kSticky = 01000;
inline constexpr std::uint32_t kGroupExecute = 010;
}  // namespace mode

/// Returns the mode to set for a request that sets the mode `wanted`. If the request also sets the owner or the group,
/// removes the set-user-ID and set-group-ID bits from the mode, because the new owner has not consented to them. There
/// are two exceptions. A directory keeps both bits. A file whose mode does not let the group execute it keeps the
/// set-group-ID bit, which then means mandatory locking. The NFS server of Linux does the same.
std::uint32_t mode_beside_owner(std::uint32_t wanted, const SetAttributes& changes, FileType type) noexcept;

}  // namespace rpcrdma::nfsd
