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
  /// Limit in bytes for the memory of objects, names and link targets, without file data.
  std::uint64_t max_metadata = std::uint64_t{1} << 30;
  /// Limit in bytes for file data (in whole pages), objects, names and link targets together. The PageStore may
  /// have fewer pages.
  std::uint64_t max_octets = std::numeric_limits<std::uint64_t>::max();
};

/// A file system that is lost when the process ends. Its file data is in `pages`, which must outlive it.
std::unique_ptr<FileSystem> make_memory_file_system(PageStore& pages, const MemoryOptions& options = {});

}  // namespace rpcrdma::nfsd
