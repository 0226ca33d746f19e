// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

using BufferRefs = boost::container::small_vector<BufferRef, 8>;

/// Registers the slabs of one PageStore with one fabric, each at its first use. Used on the fabric's thread. The store
/// must outlive the registry; the registry must outlive the work requests that use its keys.
class SlabRegistry {
 public:
  explicit SlabRegistry(fabric::Fabric& fabric) noexcept : fabric_(fabric) {}

  /// Appends to `out` buffers with local keys that cover the memory of `run`. Parts of one slab that are adjacent in
  /// memory share a buffer.
  error_code refer(const PageRun& run, BufferRefs& out);
  std::size_t regions() const noexcept { return count_; }

 private:
  Result<std::uint32_t> key_of(const Slab& slab);

  fabric::Fabric& fabric_;
  std::vector<std::unique_ptr<fabric::MemoryRegion>> regions_;  // index: slab number
  std::size_t count_ = 0;
};

}  // namespace rpcrdma::nfsd
