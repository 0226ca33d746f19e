// SPDX-License-Identifier: BSD-3-Clause
// Ownership: after ~ReverseHandlers(), the dispatcher and the service live until the last call that a handler holds has
// ended. Then they are destroyed from the io_context, or at once if there has been no connection.
#include "rpcrdma/rpc/reverse_handlers.hpp"

#include <cstdint>

#include "rpcrdma/responder/reverse_service.hpp"

namespace rpcrdma::rpc {

struct ReverseHandlers::Impl {
  Impl(transport::Client& client, ReverseHandlersOptions options)
      : dispatcher({.cache = nullptr, .log = options.log}),
        service(transport::ReverseService::make(client, dispatcher, options.credits != 0 ? options.credits : UINT32_MAX,
                                                std::move(options.log), std::move(options.announce),
                                                options.bulk_budget)) {}
  Dispatcher dispatcher;
  std::unique_ptr<transport::ReverseService> service;
};

ReverseHandlers::ReverseHandlers(transport::Client& client, ReverseHandlersOptions options)
    : impl_(std::make_unique<Impl>(client, std::move(options))) {}

ReverseHandlers::~ReverseHandlers() {
  transport::ReverseService& service = *impl_->service;
  service.retire([impl = std::move(impl_)] {});
}

Dispatcher& ReverseHandlers::dispatcher() noexcept { return impl_->dispatcher; }
std::size_t ReverseHandlers::calls() const noexcept { return impl_->service->calls(); }

}  // namespace rpcrdma::rpc
