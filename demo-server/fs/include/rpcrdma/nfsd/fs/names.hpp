// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string_view>

#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Longest name of a directory entry, in bytes (NAME_MAX of Linux).
inline constexpr std::size_t kMaxName = 255;
/// Longest target of a symbolic link, in bytes (PATH_MAX of Linux, without its NUL).
inline constexpr std::size_t kMaxTarget = 4095;

/// Checks that a directory could hold `name`. Status::acces if `name` is empty or contains '/' or NUL,
/// Status::nametoolong if it is longer than kMaxName. Accepts "." and "..".
Status check_component(std::string_view name) noexcept;
inline bool is_dot(std::string_view name) noexcept { return name == "."; }
inline bool is_dot_dot(std::string_view name) noexcept { return name == ".."; }

/// For procedures that create `name`: "." and ".." exist already (Status::exist).
Status check_new_name(std::string_view name) noexcept;
/// For REMOVE and RENAME: "." and ".." cannot be removed (Status::inval).
Status check_old_name(std::string_view name) noexcept;
/// For RMDIR: RFC 1813 section 3.3.13 requires Status::inval for "." and Status::exist for "..".
Status check_rmdir_name(std::string_view name) noexcept;
/// Checks the target of a symbolic link: not empty, without NUL, at most kMaxTarget bytes.
Status check_target(std::string_view target) noexcept;

}  // namespace rpcrdma::nfsd
