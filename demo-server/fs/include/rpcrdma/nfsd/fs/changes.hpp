// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Status::inval for a time that is none. CREATE of a new object and SETATTR alike.
Status check_times(const SetAttributes& changes) noexcept;

/// Whether SETATTR of an object of that type can mean anything: sizes are for regular files (Status::isdir,
/// Status::inval), and times are to be times.
Status check_changes(const SetAttributes& changes, FileType type) noexcept;

/// `changes` less what an object of that type does not have: the mode of a symbolic link, which nobody ever asks for.
/// As on Linux's server nothing is said of it, for clients send it along with owner and times (lchmod(2) of BSD, tar).
SetAttributes without_moot(const SetAttributes& changes, FileType type) noexcept;

/// Whether any attribute is to be changed at all.
bool changes_anything(const SetAttributes& changes) noexcept;

namespace mode {
inline constexpr std::uint32_t kAll = 07777;
inline constexpr std::uint32_t kSetUid = 04000;
inline constexpr std::uint32_t kSetGid = 02000;
inline constexpr std::uint32_t kSticky = 01000;
inline constexpr std::uint32_t kGroupExecute = 010;
}  // namespace mode

/// `wanted` less the bits that a request does not get when it sets owner or group as well: nobody has looked at the
/// program in its new owner's name. (Linux does so in its server; set-group-id without the group's right to execute is
/// another thing, and stays.)
std::uint32_t mode_beside_owner(std::uint32_t wanted, const SetAttributes& changes, FileType type) noexcept;

}  // namespace rpcrdma::nfsd
