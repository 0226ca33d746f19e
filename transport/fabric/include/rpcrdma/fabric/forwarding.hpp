// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <utility>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// A fabric that forwards every call to another fabric. A derived class overrides the functions that it changes.
class ForwardingFabric : public Fabric {
 public:
  /// Forwards to `under`, and keeps it alive.
  explicit ForwardingFabric(std::shared_ptr<Fabric> under) : under_(std::move(under)) {}

  boost::asio::io_context& context() noexcept override { return under_->context(); }
  const Capabilities& capabilities() const noexcept override { return under_->capabilities(); }
  const Counters& counters() const noexcept override { return under_->counters(); }
  /// Forwarded: `handler` runs when the fabric `under` ends.
  void on_end(UniqueFunction<void(error_code)> handler) override { under_->on_end(std::move(handler)); }
  Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    return under_->register_memory(memory);
  }
  Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                    QueuePairEvents& events) override {
    return under_->make_connector(peer, std::move(options), events);
  }
  void start(QueuePair& queue_pair) override { under_->start(queue_pair); }
  Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) override {
    return under_->listen(local, std::move(handler));
  }
  Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request, QueuePairOptions options,
                                                   QueuePairEvents& events) override {
    return under_->make_acceptor(std::move(request), std::move(options), events);
  }
  void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) override {
    under_->reject(std::move(request), private_data);
  }

 private:
  const std::shared_ptr<Fabric> under_;
};

}  // namespace rpcrdma::fabric
