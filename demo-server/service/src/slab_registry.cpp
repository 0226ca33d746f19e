// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/service/slab_registry.hpp"

namespace rpcrdma::nfsd {

Result<std::uint32_t> SlabRegistry::key_of(const Slab& slab) {
  if (slab.number >= regions_.size()) regions_.resize(slab.number + 1);
  auto& region = regions_[slab.number];
  if (region == nullptr) {
    auto made = fabric_.register_memory({slab.data, kSlabSize});
    if (!made) return made.error();
    region = std::move(*made);
    ++count_;
  }
  return region->buffer().local_key;
}

error_code SlabRegistry::refer(const PageRun& run, BufferRefs& out) {
  for (const PagePart& part : run) {
    const auto key = key_of(part.page.slab());
    if (!key) return key.error();
    const std::span<std::byte> octets = part.octets();
    if (!out.empty() && out.back().data + out.back().size == octets.data() && out.back().local_key == *key)
      out.back().size += part.length;
    else
      out.push_back({octets.data(), part.length, *key});
  }
  return {};
}

}  // namespace rpcrdma::nfsd
