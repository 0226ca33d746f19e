// SPDX-License-Identifier: BSD-3-Clause
#include "resume.hpp"

namespace rpcrdma::nfs {

namespace {

/// Selects the lowest three bits of the nanoseconds of an access time. In the access time that marks an unfinished
/// copy, these bits store the write permissions of owner, group and others. The mode of the copy does not contain these
/// permissions until the copy is finished.
constexpr std::uint32_t kTaken = 7;

constexpr std::uint32_t packed(std::uint32_t mode) noexcept {
  return (mode >> 7 & 1) << 2 | (mode >> 4 & 1) << 1 | (mode >> 1 & 1);
}
constexpr std::uint32_t unpacked(std::uint32_t taken) noexcept {
  return (taken >> 2 & 1) << 7 | (taken >> 1 & 1) << 4 | (taken & 1) << 1;
}
static_assert(packed(0644) == 4 && packed(0666) == 7 && packed(0555) == 0);
static_assert(unpacked(packed(0222)) == 0222 && unpacked(packed(0200)) == 0200 && unpacked(packed(0020)) == 0020);

/// Returns the time that marks an unfinished copy of `source`. It depends on the mtime and on the size, because two
/// versions of the source may have the same mtime. The bits kTaken of its nanoseconds are 0.
Time mark_time(const Attributes& source) noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t mixed = source.mtime.nanoseconds + source.size % kSecond;
  return {source.mtime.seconds, static_cast<std::uint32_t>(mixed % kSecond) & ~kTaken};
}

bool has_mark_of(const Attributes& source, const Attributes& target) noexcept {
  const Time time{target.atime.seconds, target.atime.nanoseconds & ~kTaken};
  return target.type == FileType::regular && is_marked(target.mode) && time == mark_time(source);
}

}  // namespace

SetAttributes mark_of(const Attributes& source, std::uint32_t mode) noexcept {
  Time time = mark_time(source);
  time.nanoseconds |= packed(mode);
  return {.mode = (mode & 0777 & ~kWriteBits) | kUnfinished, .atime = SetTime::to(time)};
}

std::uint32_t unmarked_mode(const Attributes& source, const Attributes& target) noexcept {
  const std::uint32_t mode = target.mode & 0777;
  if (!is_marked(target.mode)) return mode;
  return mode | (has_mark_of(source, target) ? unpacked(target.atime.nanoseconds & kTaken) : 0200);
}

bool is_copy(const Attributes& source, const Attributes& target) noexcept {
  return target.type == FileType::regular && (target.mode & kUnfinished) == 0 && target.size == source.size &&
         target.mtime == source.mtime;
}

bool is_same(const Attributes& before, const Attributes& after) noexcept {
  return before.size == after.size && before.mtime == after.mtime;
}

void renew(SetAttributes& final, const Attributes& source) noexcept {
  final.size.reset();
  if (final.mode) final.mode = source.mode & 0777;
  if (final.atime) final.atime = SetTime::to(source.atime);
  if (final.mtime) final.mtime = SetTime::to(source.mtime);
}

std::uint64_t resume_at(const Attributes& source, const Attributes& target, std::uint64_t stride) noexcept {
  const bool ours = has_mark_of(source, target) && target.size <= source.size;
  return ours && target.size > 0 ? (target.size - 1) / stride * stride : 0;
}

}  // namespace rpcrdma::nfs
