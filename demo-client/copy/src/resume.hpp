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
/// The attributes to set on a file to mark it as an unfinished copy of `source`. `mode` is the mode that the file would
/// have without the mark.
SetAttributes mark_of(const Attributes& source, std::uint32_t mode) noexcept;
/// Returns the permission bits that `target` would have if it had not been marked. The mark of `source` contains the
/// write permissions that the marking has removed. If `target` has the mark of another source, these permissions are
/// unknown, and the result has write permission for the owner only.
std::uint32_t unmarked_mode(const Attributes& source, const Attributes& target) noexcept;
/// True if the attributes of `target` are those of a finished copy of `source`.
bool is_copy(const Attributes& source, const Attributes& target) noexcept;
/// True if mtime and size are equal.
bool is_same(const Attributes& before, const Attributes& after) noexcept;
/// Adapts `final`, the attributes to set on the target after the copy, to a source that has changed. `source` has the
/// attributes of the changed source. The mode, atime and mtime in `final`, as far as they are set, become those of
/// `source`. The size in `final` is removed.
void renew(SetAttributes& final, const Attributes& source) noexcept;
/// Returns the offset at which to resume the copy of `source` to `target`. The offset is 0 unless `target` has the mark
/// of an unfinished copy of `source`. The bytes before the offset need no further copying: the earlier transfer wrote
/// them, and on a server also committed them, before it wrote any byte at or after the offset.
std::uint64_t resume_at(const Attributes& source, const Attributes& target, std::uint64_t stride) noexcept;

}  // namespace rpcrdma::nfs
