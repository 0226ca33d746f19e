// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// File data in pages: READ data is sent from them and WRITE data is received into them, without a copy. Called from
/// any thread; never blocks.
class PagedData {
 public:
  /// Appends to `out` references to the pages that hold [offset, offset + count), up to the end of the file. While the
  /// references exist, the content of the pages does not change: a write to this range puts other pages into the file.
  virtual ReadResult read_pages(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                                PageRun& out) = 0;
  /// Appends new pages for `count` bytes at `offset`. The data of the file does not change yet. Status::nospc if there
  /// are too few pages.
  virtual Status prepare_write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                               PageRun& out) = 0;
  /// Writes the bytes of `run` into the file from `offset` on, and moves the pages out of `run`. A concurrent read gets
  /// the content before or after the whole write.
  virtual WriteResult commit_write(const NodeKey& node, std::uint64_t offset, PageRun& run, Stable stable) = 0;

 protected:
  ~PagedData() = default;
};

}  // namespace rpcrdma::nfsd
