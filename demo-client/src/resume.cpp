// SPDX-License-Identifier: BSD-3-Clause
#include "resume.hpp"

namespace rpcrdma::nfs {

SetAttributes mark_of(const Attributes& source, std::uint32_t mode) noexcept {
  return {.mode = mode | kUnfinished, .accessed = source.modified};
}

bool is_copy(const Attributes& source, const Attributes& target) noexcept {
  return target.type == FileType::regular && (target.mode & kUnfinished) == 0 && target.size == source.size &&
         target.modified == source.modified;
}

std::uint64_t resume_at(const Attributes& source, const Attributes& target, std::uint64_t stride) noexcept {
  const bool ours = target.type == FileType::regular && (target.mode & kUnfinished) != 0 &&
                    target.accessed == source.modified && target.size <= source.size;
  return ours && target.size > 0 ? (target.size - 1) / stride * stride : 0;
}

}  // namespace rpcrdma::nfs
