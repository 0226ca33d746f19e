// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/nfsd/service/io_pool.hpp"
#include "rpcrdma/nfsd/service/loop_threads.hpp"
#include "rpcrdma/nfsd/service/slab_registry.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"

namespace rpcrdma::nfsd {

/// Largest READ and WRITE, in bytes (FSINFO rtmax and wtmax).
inline constexpr std::uint32_t kMaxTransfer = 1u << 20;
/// Sizes of directory listings, in bytes of the reply: the one that FSINFO recommends, and the largest.
inline constexpr std::uint32_t kPreferredListing = 65536;
inline constexpr std::uint32_t kMaxListing = 262144;

/// NFS version 3 (RFC 1813) on the exports, for one thread and one fabric: all 22 procedures.
class NfsService {
 public:
  /// `exports` and `io` are shared by all threads and must outlive the service. Destroy it while the fabric's context
  /// does not run.
  NfsService(const ExportTable& exports, IoPool& io, const HandleSecret& secret, fabric::Fabric& fabric, Log log);
  ~NfsService();
  NfsService(const NfsService&) = delete;
  NfsService& operator=(const NfsService&) = delete;

  /// From now on, submits changes that are usually short to `threads`, which run the fabric's context, and not to the
  /// IoPool. `threads` must outlive the service. Call it before the context runs.
  void use(LoopThreads& threads);
  /// Adds the procedures; the service must outlive the dispatcher's last call.
  void add_to(rpc::Dispatcher& dispatcher);
  /// Takes over the present list of exports, so that the service releases exports that have been removed from the
  /// ExportTable. Call it on the fabric's thread.
  void refresh();
  /// Regions registered for memory exports. Call it on the fabric's thread.
  std::size_t regions() const noexcept;

  class Procedures;

 private:
  std::unique_ptr<Procedures> procedures_;
};

}  // namespace rpcrdma::nfsd
