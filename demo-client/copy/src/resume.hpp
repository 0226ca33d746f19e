// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// How a transfer that broke is known again. A file of more than one stride bears a mark while it is being copied: the
// sticky bit, which means nothing on a file; nobody's right to write it, so that who opens it meanwhile is refused, and
// who takes the right takes the mark away (root apart); and as its access time the time of the source (and its size,
// and the rights taken away), so that a source that has changed meanwhile, or an older file of that name, is not taken
// for the beginning of the copy.
#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::nfs {

inline constexpr std::uint32_t kUnfinished = 01000;
inline constexpr std::uint32_t kWriteBits = 0222;

constexpr bool is_marked(std::uint32_t mode) noexcept { return (mode & (kUnfinished | kWriteBits)) == kUnfinished; }
/// What marks the target of a copy of `source`; `mode` is what it has without the mark.
SetAttributes mark_of(const Attributes& source, std::uint32_t mode) noexcept;
/// The permission bits of `target` without a mark that it may bear. If that is not of `source`, nobody knows who might
/// write it, and only its owner may.
std::uint32_t unmarked_mode(const Attributes& source, const Attributes& target) noexcept;
/// Whether `target` is a finished copy of `source`, as far as its attributes tell.
bool is_copy(const Attributes& source, const Attributes& target) noexcept;
/// Whether the data of a file has not changed between two looks at it.
bool is_same(const Attributes& before, const Attributes& after) noexcept;
/// What a copy is to get at its end is taken from another version of its source; but no size.
void renew(SetAttributes& final, const Attributes& source) noexcept;
/// Where to go on with `target`: 0 unless it bears the mark of `source`. All before it was committed before any octet
/// behind it was written.
std::uint64_t resume_at(const Attributes& source, const Attributes& target, std::uint64_t stride) noexcept;

}  // namespace rpcrdma::nfs
