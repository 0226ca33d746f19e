// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/nfsd/service/mount_service.hpp"
#include "rpcrdma/nfsd/service/nfs_service.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"

namespace rpcrdma::nfsd {

/// What all lanes of a server share; outlives them.
struct Shared {
  const ExportTable& exports;
  IoPool& io;
  MountTable& mounts;
  rpc::DuplicateCache& duplicates;
  HandleSecret secret;
};

/// One thread's share of the server on one fabric: registered memory, services, dispatcher. Made before its thread
/// runs, destroyed after; used on it in between.
class Lane {
 public:
  Lane(std::unique_ptr<fabric::Fabric> fabric, const Shared& shared, Log log, memory::PoolOptions memory = {});

  transport::Worker worker() noexcept { return {fabric_.get(), &pool_, &dispatcher_}; }
  boost::asio::io_context& context() noexcept { return fabric_->context(); }
  memory::Pool& pool() noexcept { return pool_; }
  rpc::Dispatcher& dispatcher() noexcept { return dispatcher_; }
  /// Lets go of exports that the configuration does not name any more. On the lane's thread.
  void refresh() {
    nfs_.refresh();
    mount_.refresh();
  }
  /// Memory regions: of the pool and of memory exports.
  std::size_t regions() const noexcept { return pool_.counters().regions + nfs_.regions(); }

 private:
  // A call's state in the dispatcher may hold buffers, which go back to the pool: they are destroyed in this order.
  std::unique_ptr<fabric::Fabric> fabric_;
  memory::Pool pool_;
  NfsService nfs_;
  MountService mount_;
  rpc::Dispatcher dispatcher_;
};

}  // namespace rpcrdma::nfsd
