// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <map>
#include <memory>

#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// The content of one file: a sparse sequence of pages. In the last page, the bytes beyond the end of the file are
/// zeros. Not synchronized.
class FileData {
 public:
  /// Counts its pages in `total`, which is shared by all files. `store` and `total` must outlive this object.
  FileData(PageStore& store, std::uint64_t& total) noexcept : store_(&store), total_(&total) {}
  ~FileData() { *total_ -= pages_; }
  FileData(const FileData&) = delete;
  FileData& operator=(const FileData&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t used() const noexcept { return pages_ * kPageSize; }
  /// The number of pages of [offset, offset + count) that do not exist yet.
  std::uint64_t missing(std::uint64_t offset, std::uint32_t count) const noexcept;
  /// Appends to `out` the parts of pages that hold the bytes [offset, offset + count). Copies no bytes: `out` shares
  /// the pages with the file. The range must lie within the file.
  void share(std::uint64_t offset, std::uint32_t count, PageRun& out) const;
  /// Writes the bytes of `run` into the file from `offset` on, and extends the file if they end beyond it. Moves the
  /// pages out of `run`. Each part of `run` must have the same offset in its page as in the page of the file.
  void replace(std::uint64_t offset, PageRun& run);
  /// Sets the size of the file. If the file shrinks, and its new end lies within a page that is still being sent, the
  /// file gets a copy of that page. Returns false and changes nothing if there is no free page for the copy.
  bool resize(std::uint64_t size);

 private:
  static constexpr std::uint64_t kPerChunk = 64;
  using Chunk = std::array<Page, kPerChunk>;

  const Page* find(std::uint64_t index) const noexcept;
  Page& slot(std::uint64_t index);
  void put(std::uint64_t index, Page fresh, std::uint32_t begin, std::uint32_t end);
  bool clear_tail(std::uint64_t size);

  PageStore* store_;
  std::uint64_t* total_;
  std::map<std::uint64_t, std::unique_ptr<Chunk>> chunks_;
  std::uint64_t size_ = 0;
  std::uint64_t pages_ = 0;
};

}  // namespace rpcrdma::nfsd
