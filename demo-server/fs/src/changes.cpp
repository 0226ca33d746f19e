// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

bool is_time(const SetTime& t) noexcept {
  return t.how != SetTime::How::client || t.value.nanoseconds < 1'000'000'000u;
}

}  // namespace

Status check_times(const SetAttributes& changes) noexcept {
  return is_time(changes.atime) && is_time(changes.mtime) ? Status::ok : Status::inval;
}

Status check_changes(const SetAttributes& changes, FileType type) noexcept {
  if (const Status s = check_times(changes); s != Status::ok) return s;
  if (changes.size && type == FileType::directory) return Status::isdir;
  if (changes.size && type != FileType::regular) return Status::inval;
  return Status::ok;
}

SetAttributes without_moot(const SetAttributes& changes, FileType type) noexcept {
  SetAttributes result = changes;
  if (type == FileType::symlink) result.mode.reset();
  return result;
}

bool changes_anything(const SetAttributes& changes) noexcept {
  return changes.mode || changes.uid || changes.gid || changes.size || changes.atime.how != SetTime::How::keep ||
         changes.mtime.how != SetTime::How::keep;
}

std::uint32_t mode_beside_owner(std::uint32_t wanted, const SetAttributes& changes, FileType type) noexcept {
  wanted &= mode::kAll;
  if (type == FileType::directory || (!changes.uid && !changes.gid)) return wanted;
  wanted &= ~mode::kSetUid;
  return (wanted & mode::kGroupExecute) != 0 ? wanted & ~mode::kSetGid : wanted;
}

}  // namespace rpcrdma::nfsd
