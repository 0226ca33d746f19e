// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <utility>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

/// A fabric over another one. A test overrides what it controls.
class ForwardingFabric : public fabric::Fabric {
 public:
  explicit ForwardingFabric(std::unique_ptr<fabric::Fabric> under) : under_(std::move(under)) {}

  boost::asio::io_context& context() noexcept override { return under_->context(); }
  const fabric::Capabilities& capabilities() const noexcept override { return under_->capabilities(); }
  const fabric::Counters& counters() const noexcept override { return under_->counters(); }
  void on_end(UniqueFunction<void(error_code)> handler) override { under_->on_end(std::move(handler)); }
  Result<std::unique_ptr<fabric::MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    return under_->register_memory(memory);
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_connector(const fabric::Endpoint& peer,
                                                            fabric::QueuePairOptions options,
                                                            fabric::QueuePairEvents& events) override {
    return under_->make_connector(peer, std::move(options), events);
  }
  void start(fabric::QueuePair& queue_pair) override { under_->start(queue_pair); }
  Result<std::unique_ptr<fabric::Listener>> listen(const fabric::Endpoint& local, RequestHandler handler) override {
    return under_->listen(local, std::move(handler));
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_acceptor(std::unique_ptr<fabric::ConnectionRequest> request,
                                                           fabric::QueuePairOptions options,
                                                           fabric::QueuePairEvents& events) override {
    return under_->make_acceptor(std::move(request), std::move(options), events);
  }
  void reject(std::unique_ptr<fabric::ConnectionRequest> request, Octets private_data) override {
    under_->reject(std::move(request), private_data);
  }

 private:
  const std::unique_ptr<fabric::Fabric> under_;
};

}  // namespace rpcrdma::test
