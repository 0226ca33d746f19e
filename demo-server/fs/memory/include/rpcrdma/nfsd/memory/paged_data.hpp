// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// File data in pages: READ is sent from them and WRITE is received into them, without a copy. Called from any thread;
/// never blocks.
class PagedData {
 public:
  /// References to the pages that hold [offset, offset + count), up to the end of the file. A page that has been
  /// returned is not changed any more: a later write replaces it.
  virtual ReadResult read_pages(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                                PageRun& out) = 0;
  /// New pages for `count` bytes at `offset`. The file does not change yet. Status::nospc when there are not enough.
  virtual Status prepare_write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                               PageRun& out) = 0;
  /// Makes `run` the content of the file at `offset` in one step; takes its pages.
  virtual WriteResult commit_write(const NodeKey& node, std::uint64_t offset, PageRun& run, Stable stable) = 0;

 protected:
  ~PagedData() = default;
};

}  // namespace rpcrdma::nfsd
