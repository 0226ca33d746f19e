// SPDX-License-Identifier: BSD-3-Clause
#include "resume.hpp"

namespace rpcrdma::nfs {

namespace {

/// The source's time, with its size mixed in: versions of one source may have the same time.
Time mark_time(const Attributes& source) noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t mixed = source.modified.nanoseconds + source.size % kSecond;
  return {source.modified.seconds, static_cast<std::uint32_t>(mixed % kSecond)};
}

}  // namespace

SetAttributes mark_of(const Attributes& source, std::uint32_t mode) noexcept {
  return {.mode = mode | kUnfinished, .accessed = mark_time(source)};
}

bool is_copy(const Attributes& source, const Attributes& target) noexcept {
  return target.type == FileType::regular && (target.mode & kUnfinished) == 0 && target.size == source.size &&
         target.modified == source.modified;
}

std::uint64_t resume_at(const Attributes& source, const Attributes& target, std::uint64_t stride) noexcept {
  const bool ours = target.type == FileType::regular && (target.mode & kUnfinished) != 0 &&
                    target.accessed == mark_time(source) && target.size <= source.size;
  return ours && target.size > 0 ? (target.size - 1) / stride * stride : 0;
}

}  // namespace rpcrdma::nfs
