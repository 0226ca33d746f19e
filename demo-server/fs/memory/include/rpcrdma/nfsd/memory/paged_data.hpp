// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// File data that lies in pages: READ is sent from them and WRITE lands in them, without a copy. Any thread;
/// never blocks.
class PagedData {
 public:
  /// Shares of the pages with [offset, offset + count) as far as the file goes. A page once handed out is not
  /// changed any more: a later write replaces it.
  virtual ReadResult read_pages(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                                PageRun& out) = 0;
  /// Fresh pages, with room for `count` octets at `offset`, for the data to be put in. The file does not
  /// change yet. Status::nospc when there are not enough.
  virtual Status prepare_write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                               PageRun& out) = 0;
  /// Makes what has been put into `run` the content of the file at `offset`, at once; takes its pages.
  virtual WriteResult commit_write(const NodeKey& node, std::uint64_t offset, PageRun& run, Stable stable) = 0;

 protected:
  ~PagedData() = default;
};

}  // namespace rpcrdma::nfsd
