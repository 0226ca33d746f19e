// SPDX-License-Identifier: BSD-3-Clause
// Operation: the dispatcher passes a decoded call to a handler on the loop; procedures.hpp says where the handler's
// work runs.
// Ownership: a call, and the data that its result references, belongs to the job that runs it and then to the reply.
// Error handling: each error of a file system is an nfsstat3 in the result. The rpc layer answers SYSTEM_ERR for a call
// that is destroyed unanswered because memory ran out.
#include "rpcrdma/nfsd/service/nfs_service.hpp"

#include "procedures.hpp"

namespace rpcrdma::nfsd {

NfsService::NfsService(const ExportTable& exports, IoPool& io, const HandleSecret& secret, fabric::Fabric& fabric,
                       Log log)
    : procedures_(std::make_unique<Procedures>(exports, io, secret, fabric, std::move(log))) {}

NfsService::~NfsService() = default;

void NfsService::add_to(rpc::Dispatcher& dispatcher) {
  procedures_->add_attribute_procedures(dispatcher);
  procedures_->add_name_procedures(dispatcher);
  procedures_->add_link_procedures(dispatcher);
  procedures_->add_listing_procedures(dispatcher);
  procedures_->add_read(dispatcher);
  procedures_->add_write(dispatcher);
}

void NfsService::use(LoopThreads& threads) { procedures_->use(threads); }

void NfsService::refresh() { procedures_->refresh(); }

std::size_t NfsService::regions() const noexcept { return procedures_->regions(); }

}  // namespace rpcrdma::nfsd
