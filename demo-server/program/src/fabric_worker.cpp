// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/fabric_worker.hpp"

#include <utility>

namespace rpcrdma::nfsd {

FabricWorker::FabricWorker(std::unique_ptr<fabric::Fabric> fabric, const SharedServices& shared, Log log,
                           memory::PoolOptions memory)
    : fabric_(std::move(fabric)),
      pool_(*fabric_, memory),
      nfs_(shared.exports, shared.io, shared.secret, *fabric_, log),
      mount_(shared.exports, shared.io, shared.mounts, shared.secret, log),
      dispatcher_({.cache = &shared.duplicates, .log = std::move(log)}) {
  nfs_.add_to(dispatcher_);
  mount_.add_to(dispatcher_);
}

}  // namespace rpcrdma::nfsd
