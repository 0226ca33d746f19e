// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Status::inval if a time is invalid. Used for new objects and for SETATTR.
Status check_times(const SetAttributes& changes) noexcept;

/// Checks a SETATTR of an object of type `type`. Status::inval if a time is invalid. Only a regular file may be given a
/// size: else Status::isdir for a directory, Status::inval for other types.
Status check_changes(const SetAttributes& changes, FileType type) noexcept;

/// `changes` without the attributes that objects of `type` do not use: the mode of a symbolic link. Like Linux's
/// server, ignores that mode, because clients send it along with owner and times (lchmod(2) of BSD, tar).
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

/// `wanted`, but without the set-id bits if the request also sets owner or group, as the new owner has not consented to
/// them. Linux's server does the same. A directory keeps both bits. If the group has no right to execute the file, the
/// set-group-id bit means mandatory locking, and stays.
std::uint32_t mode_beside_owner(std::uint32_t wanted, const SetAttributes& changes, FileType type) noexcept;

}  // namespace rpcrdma::nfsd
