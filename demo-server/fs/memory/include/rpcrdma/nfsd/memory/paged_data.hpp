// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// File data in pages: READ data is sent from them and WRITE data is received into them, without a copy. Called from
/// any thread; never blocks.
class PagedData {
 public:
  /// Appends references to the pages that hold [offset, offset + count), up to the end of the file. Pages referenced
  /// here no longer change: a later write replaces them.
  virtual ReadResult read_pages(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                                PageRun& out) = 0;
  /// Appends new pages for `count` bytes at `offset`. The data of the file does not change yet. Status::nospc if there
  /// are too few pages.
  virtual Status prepare_write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                               PageRun& out) = 0;
  /// Makes `run` the content of the file at `offset`, atomically. Moves the pages out of `run`.
  virtual WriteResult commit_write(const NodeKey& node, std::uint64_t offset, PageRun& run, Stable stable) = 0;

 protected:
  ~PagedData() = default;
};

}  // namespace rpcrdma::nfsd
