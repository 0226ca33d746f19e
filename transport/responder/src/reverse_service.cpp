// SPDX-License-Identifier: BSD-3-Clause
// Operation. The roles of responder and requester swapped on a client's connection: the same serving link, with
// credits of its own [8167-4.1-a] and without chunks.
// Ownership. The link of a connection ends with it; calls that a handler still holds outlive it.
#include "rpcrdma/responder/reverse_service.hpp"

#include <algorithm>

#include "call_impl.hpp"
#include "service.hpp"
#include "serving_link.hpp"

namespace rpcrdma::transport {
namespace {

class ReverseServiceImpl final : public ReverseService, private CallSink {
 public:
  ReverseServiceImpl(Client& client, CallHandler& handler, std::uint32_t credits, Log log,
                     UniqueFunction<void()> connected)
      : service_({&handler, 0, 0, false, nullptr, std::move(log)}),
        credits_(credits),
        connected_(std::move(connected)) {
    client.set_call_sink(this);
  }

 private:
  ServingLink& link_on(Connection& connection) {
    if (!link_) {
      // [8167-4.3.1-a] at most the receives that the requester provides beside its own
      const std::uint32_t credits = std::min(credits_, connection.options().reverse_credits);
      link_ = std::make_unique<ServingLink>(service_, credits, 0, connection.info().peer.address());
      link_->open(connection);
    }
    return *link_;
  }
  void on_connected() noexcept override {
    if (connected_) connected_();
  }
  void on_call(Connection& connection, Received& message) noexcept override { link_on(connection).on_call(message); }
  void on_bad_message(Connection& connection, wire::WireError error, Received& message) noexcept override {
    link_on(connection).on_bad_message(error, message);
  }
  void on_lost() noexcept override {
    if (!link_) return;
    link_->lost({});
    link_.reset();
  }

  Service service_;
  std::uint32_t credits_;
  UniqueFunction<void()> connected_;
  std::unique_ptr<ServingLink> link_;
};

}  // namespace

std::unique_ptr<ReverseService> ReverseService::make(Client& client, CallHandler& handler, std::uint32_t credits,
                                                     Log log, UniqueFunction<void()> connected) {
  return std::make_unique<ReverseServiceImpl>(client, handler, credits, std::move(log), std::move(connected));
}

}  // namespace rpcrdma::transport
