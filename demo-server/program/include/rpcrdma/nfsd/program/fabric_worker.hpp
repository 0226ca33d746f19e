// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/nfsd/service/mount_service.hpp"
#include "rpcrdma/nfsd/service/nfs_service.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"

namespace rpcrdma::nfsd {

/// Objects that all workers of a server share; they must outlive the workers.
struct SharedServices {
  const ExportTable& exports;
  IoPool& io;
  MountTable& mounts;
  rpc::DuplicateCache& duplicates;
  HandleSecret secret;
};

/// The fabric, the registered memory, the services and the dispatcher with which one event loop serves calls. It is
/// constructed before the thread of the event loop starts, used on that thread, and destroyed after the thread has
/// ended.
class FabricWorker {
 public:
  FabricWorker(std::unique_ptr<fabric::Fabric> fabric, const SharedServices& shared, Log log,
               memory::PoolOptions memory = {});

  transport::Worker worker() noexcept { return {fabric_.get(), &pool_, &dispatcher_}; }
  boost::asio::io_context& context() noexcept { return fabric_->context(); }
  memory::Pool& pool() noexcept { return pool_; }
  rpc::Dispatcher& dispatcher() noexcept { return dispatcher_; }
  /// As NfsService::use().
  void use(LoopThreads& threads) { nfs_.use(threads); }
  /// Drops exports that have been removed from the configuration. Call it on the worker's thread.
  void refresh() {
    nfs_.refresh();
    mount_.refresh();
  }
  /// The number of memory regions of the pool and of memory exports.
  std::size_t regions() const noexcept { return pool_.counters().regions + nfs_.regions(); }

 private:
  // The order matters, because members are destroyed in reverse order. The dispatcher must be destroyed before the
  // pool, because its calls may hold buffers of the pool.
  std::unique_ptr<fabric::Fabric> fabric_;
  memory::Pool pool_;
  NfsService nfs_;
  MountService mount_;
  rpc::Dispatcher dispatcher_;
};

}  // namespace rpcrdma::nfsd
