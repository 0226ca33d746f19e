// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// ACCESS3 bits (RFC 1813 section 3.3.4).
namespace access {
inline constexpr std::uint32_t kRead = 1;
inline constexpr std::uint32_t kLookup = 2;
inline constexpr std::uint32_t kModify = 4;
inline constexpr std::uint32_t kExtend = 8;
inline constexpr std::uint32_t kDelete = 16;
inline constexpr std::uint32_t kExecute = 32;
/// The bits that a read-only export does not grant.
inline constexpr std::uint32_t kChanges = kModify | kExtend | kDelete;

/// The permission bits rwx, with the values that they have in the last octal digit of a file mode.
inline constexpr std::uint32_t kMayRead = 4;
inline constexpr std::uint32_t kMayWrite = 2;
inline constexpr std::uint32_t kMayExecute = 1;
}  // namespace access

/// The permission bits (rwx, 7 at most) that the mode gives `caller`: those of the owner, else of the group, else of
/// others. Uid 0 has all of them, except that it may execute a file only if the mode lets some user execute the file.
std::uint32_t rights_of(const Attributes& object, const Identity& caller) noexcept;

/// The subset of `wanted` that the mode bits give `caller`.
std::uint32_t granted_access(const Attributes& object, const Identity& caller, std::uint32_t wanted) noexcept;
/// The subset of `wanted` that `rights` (permission bits rwx, 7 at most) give.
std::uint32_t granted_access(FileType type, std::uint32_t rights, std::uint32_t wanted) noexcept;

}  // namespace rpcrdma::nfsd
