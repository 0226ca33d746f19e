// SPDX-License-Identifier: BSD-3-Clause
// Operation. The roles of responder and requester swapped on a client's connection: the same serving link, with
// credits of its own [8167-4.1-a] and without chunks.
// Ownership. The link of a connection ends with it; calls that a handler still holds outlive it.
#include "rpcrdma/responder/reverse_service.hpp"

#include "call_impl.hpp"
#include "service.hpp"
#include "serving_link.hpp"

namespace rpcrdma::transport {
namespace {

class ReverseServiceImpl final : public ReverseService, private CallSink {
 public:
  ReverseServiceImpl(Client& client, CallHandler& handler, std::uint32_t credits, Log log)
      : service_({&handler, 0, 0, false, nullptr, std::move(log)}), credits_(credits) {
    client.set_call_sink(this);
  }

 private:
  void on_call(Connection& connection, Received& message) noexcept override {
    if (!link_) {
      // The requester keeps receives for these credits beside its own [8167-4.3.1-a].
      link_ = std::make_unique<ServingLink>(service_, credits_, 0, connection.info().peer.address());
      link_->open(connection);
    }
    link_->on_call(message);
  }
  void on_lost() noexcept override {
    if (!link_) return;
    link_->lost({});
    link_.reset();
  }

  Service service_;
  std::uint32_t credits_;
  std::unique_ptr<ServingLink> link_;
};

}  // namespace

std::unique_ptr<ReverseService> ReverseService::make(Client& client, CallHandler& handler, std::uint32_t credits,
                                                     Log log) {
  return std::make_unique<ReverseServiceImpl>(client, handler, credits, std::move(log));
}

}  // namespace rpcrdma::transport
