// SPDX-License-Identifier: BSD-3-Clause
// Operation: the dispatcher hands a decoded call to a handler on the loop; see impl.hpp for where it goes from there.
// Ownership: a call, and what its result points at, belongs to the job that runs it and then to the reply.
// Error handling: each error of a file system is an nfsstat3 in the result; a call that is dropped, because
// memory ran out on its way, is answered with SYSTEM_ERR by the rpc floor.
#include "rpcrdma/nfsd/service/nfs_service.hpp"

#include "impl.hpp"

namespace rpcrdma::nfsd {

NfsService::NfsService(const ExportTable& exports, IoPool& io, const HandleSecret& secret, fabric::Fabric& fabric,
                       Log log)
    : impl_(std::make_unique<Impl>(exports, io, secret, fabric, std::move(log))) {}

NfsService::~NfsService() = default;

void NfsService::add_to(rpc::Dispatcher& dispatcher) {
  impl_->add_attribute_procedures(dispatcher);
  impl_->add_name_procedures(dispatcher);
  impl_->add_link_procedures(dispatcher);
  impl_->add_listing_procedures(dispatcher);
  impl_->add_read(dispatcher);
  impl_->add_write(dispatcher);
}

void NfsService::refresh() { impl_->refresh(); }

std::size_t NfsService::regions() const noexcept { return impl_->regions(); }

}  // namespace rpcrdma::nfsd
