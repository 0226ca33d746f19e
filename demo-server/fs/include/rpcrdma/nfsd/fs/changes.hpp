// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Status::inval for an invalid time. For CREATE of a new object and SETATTR alike.
Status check_times(const SetAttributes& changes) noexcept;

/// Whether SETATTR of an object of that type is valid: sizes are for regular files (Status::isdir, Status::inval), and
/// times must be valid.
Status check_changes(const SetAttributes& changes, FileType type) noexcept;

/// `changes` without attributes that an object of that type does not use: the mode of a symbolic link. As on Linux's
/// server this is no error, because clients send it along with owner and times (lchmod(2) of BSD, tar).
SetAttributes without_moot(const SetAttributes& changes, FileType type) noexcept;

/// Whether any attribute is changed.
bool changes_anything(const SetAttributes& changes) noexcept;

namespace mode {
inline constexpr std::uint32_t kAll = 07777;
inline constexpr std::uint32_t kSetUid = 04000;
inline constexpr std::uint32_t kSetGid = 02000;
inline constexpr std::uint32_t kSticky = 01000;
inline constexpr std::uint32_t kGroupExecute = 010;
}  // namespace mode

/// `wanted` without the set-id bits if the request sets owner or group as well, as the new owner has not consented to
/// them. (Linux's server does the same. The set-group-id bit stays if the group may not execute the file, as it does
/// not mark a program then.)
std::uint32_t mode_beside_owner(std::uint32_t wanted, const SetAttributes& changes, FileType type) noexcept;

}  // namespace rpcrdma::nfsd
