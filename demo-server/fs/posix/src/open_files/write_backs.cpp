// SPDX-License-Identifier: BSD-3-Clause
// Ownership: the open descriptors of a file and this table share the file's WriteBack; the table drops it once the
// descriptors are closed. mutex_ is not held while a file is synchronized.
// Error handling: a client whose uncommitted data is lost sees another verifier.
#include "write_backs.hpp"

#include <sys/stat.h>

#include <vector>

#include "descriptor_cache.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::chrono::seconds kRemoved{5};
constexpr std::chrono::seconds kUncommitted{10};

bool has_name(const OpenFile& file) noexcept {
  struct stat s {};
  return ::fstat(file.fd.get(), &s) != 0 || s.st_nlink != 0;
}

void bring_to_disk(WriteBack& file, const OpenFile& kept) {
  file.sync(kept.fd.get(), Stable::file_sync, file.failures());
}

}  // namespace

WriteBacks::~WriteBacks() {
  for (const auto& [id, file] : files_) file->release();
}

std::shared_ptr<WriteBack> WriteBacks::of(const ObjectId& id) {
  File found;
  File oldest;
  {
    const std::lock_guard lock(mutex_);
    if (files_.size() >= max_files_ && !files_.contains(id)) {
      forget_unused();
      if (files_.size() >= max_files_) oldest = written_longest_ago();
    }
    if (const auto at = files_.find(id); at != files_.end()) {
      found = at->second;
    } else {
      found = std::make_shared<WriteBack>(verifier_);
      files_.emplace(id, found);
    }
  }
  if (oldest == nullptr) return found;
  if (const auto kept = oldest->kept()) bring_to_disk(*oldest, *kept);
  return found;
}

/// Drops entries that only the table references; no other thread can take a reference while the lock is held.
void WriteBacks::forget_unused() {
  std::erase_if(files_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

WriteBacks::File WriteBacks::written_longest_ago() const {
  File oldest;
  auto when = Clock::time_point::max();
  for (const auto& [id, file] : files_) {
    if (const auto written = file->written(); written && *written < when) {
      when = *written;
      oldest = file;
    }
  }
  return oldest;
}

void WriteBacks::unnamed(const ObjectId& id) {
  File file;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = files_.find(id); at != files_.end()) file = at->second;
  }
  if (file == nullptr) return;
  const auto kept = file->kept();
  if (kept != nullptr && !has_name(*kept)) file->release();
}

void WriteBacks::tidy(Clock::time_point now) {
  const std::unique_lock tidying(tidying_, std::try_to_lock);
  if (!tidying) return;
  std::vector<File> idle;
  {
    const std::lock_guard lock(mutex_);
    forget_unused();
    for (const auto& [id, file] : files_)
      if (const auto written = file->written(); written && *written <= now - kRemoved) idle.push_back(file);
  }
  for (const File& file : idle) {
    const auto kept = file->kept();
    const auto written = file->written();
    if (kept == nullptr || !written) continue;
    if (!has_name(*kept))
      file->release();
    else if (*written <= now - kUncommitted)
      bring_to_disk(*file, *kept);
  }
}

std::size_t WriteBacks::size() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

}  // namespace rpcrdma::nfsd
