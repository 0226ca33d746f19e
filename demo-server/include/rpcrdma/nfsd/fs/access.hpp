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
}  // namespace access

/// The subset of `wanted` that the mode bits give `caller`. Uid 0 may do all, but execute a file only if
/// somebody may. On a read-only export nothing that changes is granted.
std::uint32_t granted_access(const Attributes& object, const Caller& caller, std::uint32_t wanted,
                             bool read_only) noexcept;

}  // namespace rpcrdma::nfsd
