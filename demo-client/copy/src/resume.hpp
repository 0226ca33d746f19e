// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Marks by which an interrupted transfer is recognized. With CopyOptions::resume, a file of more than one stride is
// marked while it is being copied:
// - the sticky bit, which has no meaning on a file;
// - no write permission, so that other programs cannot open it for writing; a chmod that permits writing removes the
//   mark;
// - an access time made from mtime and size of the source and from the removed write permissions. It prevents an older
//   version of the source or an unrelated file from being taken for the first part of the copy.
#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::nfs {

inline constexpr std::uint32_t kUnfinished = 01000;
inline constexpr std::uint32_t kWriteBits = 0222;

constexpr bool is_marked(std::uint32_t mode) noexcept { return (mode & (kUnfinished | kWriteBits)) == kUnfinished; }
/// The attributes that mark the target of a copy of `source`; `mode` is its mode without the mark.
SetAttributes mark_of(const Attributes& source, std::uint32_t mode) noexcept;
/// The permission bits of `target` without its mark, if it has one. If the mark is that of another source, the earlier
/// write permissions are unknown, and only the owner gets write permission.
std::uint32_t unmarked_mode(const Attributes& source, const Attributes& target) noexcept;
/// True if the attributes of `target` are those of a finished copy of `source`.
bool is_copy(const Attributes& source, const Attributes& target) noexcept;
/// True if mtime and size are equal.
bool is_same(const Attributes& before, const Attributes& after) noexcept;
/// Replaces the attributes that `final` sets by those of another version of the source, and removes the size.
void renew(SetAttributes& final, const Attributes& source) noexcept;
/// The offset at which to resume `target`: 0 unless it has the mark of `source`. All bytes before the offset were
/// written and, on a server, committed before any byte from the offset on was written.
std::uint64_t resume_at(const Attributes& source, const Attributes& target, std::uint64_t stride) noexcept;

}  // namespace rpcrdma::nfs
