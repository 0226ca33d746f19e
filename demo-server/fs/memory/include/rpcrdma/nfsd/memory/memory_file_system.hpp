// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <limits>
#include <memory>

#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

struct MemoryOptions {
  std::size_t max_nodes = std::size_t{1} << 20;
  /// Names and link targets, in octets.
  std::size_t max_text = std::size_t{256} << 20;
  /// File data, in octets, counted in whole pages; the store may have less.
  std::uint64_t max_octets = std::numeric_limits<std::uint64_t>::max();
};

/// A file system that lives and dies with the process; its data is in `pages`, which outlives it.
std::unique_ptr<FileSystem> make_memory_file_system(PageStore& pages, const MemoryOptions& options = {});

}  // namespace rpcrdma::nfsd
