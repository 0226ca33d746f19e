// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

using BufferRefs = boost::container::small_vector<BufferRef, 8>;

/// Registers the slabs of one PageStore with one fabric, each when it is first needed. On the fabric's thread; the
/// store outlives it, it outlives the work that names its keys.
class SlabRegistry {
 public:
  explicit SlabRegistry(fabric::Fabric& fabric) noexcept : fabric_(fabric) {}

  /// Appends buffers for `run` to `out`, neighbours in memory as one.
  error_code refer(const PageRun& run, BufferRefs& out);
  std::size_t regions() const noexcept { return count_; }

 private:
  Result<std::uint32_t> key_of(const Slab& slab);

  fabric::Fabric& fabric_;
  std::vector<std::unique_ptr<fabric::MemoryRegion>> regions_;  // by slab number
  std::size_t count_ = 0;
};

}  // namespace rpcrdma::nfsd
