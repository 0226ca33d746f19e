// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// rdma-core's objects as move-only handles. Each object must be destroyed before the object that it was made from.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

namespace rpcrdma::fabric::verbs {

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};

using CmChannel = std::unique_ptr<rdma_event_channel, Destroyer<&rdma_destroy_event_channel>>;
/// All events of an id must be acknowledged before the id is destroyed: rdma_destroy_id waits for the acknowledgements.
using CmId = std::unique_ptr<rdma_cm_id, Destroyer<&rdma_destroy_id>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroyer<&ibv_dealloc_pd>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroyer<&ibv_destroy_cq>>;
using CqChannel = std::unique_ptr<ibv_comp_channel, Destroyer<&ibv_destroy_comp_channel>>;
using Registration = std::unique_ptr<ibv_mr, Destroyer<&ibv_dereg_mr>>;
// Used instead of Destroyer<&ibv_dealloc_mw>. Each source file has its own ibv_dealloc_mw, because this is a static
// inline function. As a template argument, it would give each source file a different type.
struct MemoryWindowDestroyer {
  void operator()(ibv_mw* window) const noexcept { ibv_dealloc_mw(window); }
};
using MemoryWindowHandle = std::unique_ptr<ibv_mw, MemoryWindowDestroyer>;

}  // namespace rpcrdma::fabric::verbs
