// SPDX-License-Identifier: BSD-3-Clause
#include "file_data.hpp"

#include <algorithm>
#include <cstring>

namespace rpcrdma::nfsd {

const Page* FileData::find(std::uint64_t index) const noexcept {
  const auto chunk = chunks_.find(index / kPerChunk);
  if (chunk == chunks_.end()) return nullptr;
  const Page& page = (*chunk->second)[index % kPerChunk];
  return page ? &page : nullptr;
}

Page& FileData::slot(std::uint64_t index) {
  auto& chunk = chunks_[index / kPerChunk];
  if (chunk == nullptr) chunk = std::make_unique<Chunk>();
  return (*chunk)[index % kPerChunk];
}

std::uint64_t FileData::missing(std::uint64_t offset, std::uint32_t count) const noexcept {
  std::uint64_t pages = 0;
  for (std::uint64_t index = offset / kPageSize; index * kPageSize < offset + count; ++index)
    if (find(index) == nullptr) ++pages;
  return pages;
}

void FileData::share(std::uint64_t offset, std::uint32_t count, PageRun& out) const {
  while (count != 0) {
    const auto begin = static_cast<std::uint32_t>(offset % kPageSize);
    const std::uint32_t step = std::min(count, kPageSize - begin);
    const Page* page = find(offset / kPageSize);
    out.push_back({page != nullptr ? *page : store_->zeros(), begin, step});
    offset += step;
    count -= step;
  }
}

void FileData::put(std::uint64_t index, Page fresh, std::uint32_t begin, std::uint32_t end) {
  Page& old = slot(index);
  const std::uint32_t covered = end - begin;
  if (!old) {
    std::memset(fresh.data(), 0, begin);
    std::memset(fresh.data() + end, 0, kPageSize - end);
    old = std::move(fresh);
    ++pages_;
    ++*total_;
  } else if (old.shared() || covered >= kPageSize / 2) {
    std::memcpy(fresh.data(), old.data(), begin);
    std::memcpy(fresh.data() + end, old.data() + end, kPageSize - end);
    old = std::move(fresh);
  } else {
    std::memcpy(old.data() + begin, fresh.data() + begin, covered);
  }
}

void FileData::replace(std::uint64_t offset, PageRun& run) {
  for (PagePart& part : run) {
    put(offset / kPageSize, std::move(part.page), part.offset, part.offset + part.length);
    offset += part.length;
  }
  size_ = std::max(size_, offset);
}

/// Clears the bytes after the new end `size` in the page that contains this end. A later extension of the file then
/// does not show the old bytes. Returns false if the page is shared, so that a copy is needed, and the store has no
/// page for the copy.
bool FileData::clear_tail(std::uint64_t size) {
  const auto keep = static_cast<std::uint32_t>(size % kPageSize);
  if (keep == 0 || find(size / kPageSize) == nullptr) return true;
  Page& page = slot(size / kPageSize);
  if (page.shared()) {
    PageRun fresh;
    if (!store_->allocate(1, fresh)) return false;
    std::memcpy(fresh.front().page.data(), page.data(), keep);
    page = std::move(fresh.front().page);
  }
  std::memset(page.data() + keep, 0, kPageSize - keep);
  return true;
}

bool FileData::resize(std::uint64_t size) {
  if (size < size_) {
    if (!clear_tail(size)) return false;
    const std::uint64_t first_gone = (size + kPageSize - 1) / kPageSize;
    auto chunk = chunks_.lower_bound(first_gone / kPerChunk);
    while (chunk != chunks_.end()) {
      bool empty = true;
      for (std::uint64_t i = 0; i < kPerChunk; ++i) {
        Page& page = (*chunk->second)[i];
        if (chunk->first * kPerChunk + i >= first_gone && page) {
          page.reset();
          --pages_;
          --*total_;
        }
        empty = empty && !page;
      }
      chunk = empty ? chunks_.erase(chunk) : std::next(chunk);
    }
  }
  size_ = size;
  return true;
}

}  // namespace rpcrdma::nfsd
