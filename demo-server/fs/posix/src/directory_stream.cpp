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

StatusOr<std::unique_ptr<DirectoryStream>> DirectoryStream::open(int directory, std::uint64_t position) {
  auto fd = reopen(directory, O_RDONLY | O_DIRECTORY);
  if (!fd) return fd.error();
  if (position != 0) {
    const auto offset = static_cast<off_t>(position);
    if (offset < 0 || ::lseek(fd->get(), offset, SEEK_SET) != offset) return Status::bad_cookie;
  }
  std::unique_ptr<DirectoryStream> stream(new DirectoryStream(std::move(*fd)));
  stream->position_ = position;
  return stream;
}

StatusOr<DirectoryStream::Entry> DirectoryStream::peek() {
  if (at_ == end_) {
    buffer_.resize(kBuffer);
    const ssize_t got = ::getdents64(fd_.get(), buffer_.data(), kBuffer);
    if (got < 0 && errno == ENOENT) return Status::stale;  // the directory has been removed since it was opened
    if (got < 0) return errno == EINVAL ? Status::bad_cookie : status_of(errno);
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
    if (got == 0) return Entry{};
  }
  // The cast is safe, because the kernel aligns the records.
  const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at_);
  return Entry{entry->d_ino, entry->d_name, static_cast<std::uint64_t>(entry->d_off)};
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
  // Declared before `lock`, so that the evicted stream is closed only after the mutex has been released.
  std::list<Kept> gone;
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
