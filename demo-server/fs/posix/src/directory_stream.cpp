// SPDX-License-Identifier: BSD-3-Clause
#include "directory_stream.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstddef>

#include "system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::size_t kBuffer = 32768;

}  // namespace

Status DirectoryStream::open(int directory, std::uint64_t position, std::unique_ptr<DirectoryStream>& out) {
  Fd fd;
  if (const Status s = reopen(directory, O_RDONLY | O_DIRECTORY, fd); s != Status::ok) return s;
  if (position != 0) {
    const auto offset = static_cast<off_t>(position);
    if (offset < 0 || ::lseek(fd.get(), offset, SEEK_SET) != offset) return Status::bad_cookie;
  }
  out.reset(new DirectoryStream(std::move(fd)));
  out->position_ = position;
  return Status::ok;
}

Status DirectoryStream::peek(Entry& out) {
  out = {};
  if (at_ == end_) {
    buffer_.resize(kBuffer);
    const ssize_t got = ::getdents64(fd_.get(), buffer_.data(), kBuffer);
    if (got < 0 && errno == ENOENT) return Status::stale;  // removed since it was opened
    if (got < 0) return errno == EINVAL ? Status::bad_cookie : status_of(errno);
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
    if (got == 0) return Status::ok;
  }
  // The kernel wrote these records, aligned.
  const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at_);
  out = {entry->d_ino, entry->d_name, static_cast<std::uint64_t>(entry->d_off)};
  return Status::ok;
}

void DirectoryStream::next() noexcept {
  const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at_);
  position_ = static_cast<std::uint64_t>(entry->d_off);
  at_ += entry->d_reclen;
}

std::unique_ptr<DirectoryStream> DirectoryStreams::take(const NodeKey& directory, std::uint64_t position) {
  std::list<Kept> gone;
  std::unique_ptr<DirectoryStream> newest;
  const std::lock_guard lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end();) {
    const auto here = at++;
    if (here->stream->position() != position || !(here->directory == directory)) continue;
    std::swap(newest, here->stream);
    gone.splice(gone.end(), kept_, here);
  }
  return newest;
}

void DirectoryStreams::put(const NodeKey& directory, std::unique_ptr<DirectoryStream> stream) {
  std::list<Kept> gone;  // closes after the lock is released
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= capacity_) gone.splice(gone.end(), kept_, kept_.begin());
  kept_.push_back({directory, std::move(stream), Clock::now()});
}

void DirectoryStreams::drop_idle(Clock::time_point since) {
  std::list<Kept> gone;
  const std::lock_guard lock(mutex_);
  while (!kept_.empty() && kept_.front().used < since) gone.splice(gone.end(), kept_, kept_.begin());
}

}  // namespace rpcrdma::nfsd
