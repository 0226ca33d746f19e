// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "core.hpp"

namespace rpcrdma::fabric::verbs {

/// The fabric of one device on one io_context. It ends when its device is lost.
class VerbsFabric final : public Fabric {
 public:
  explicit VerbsFabric(std::shared_ptr<Core> core);
  ~VerbsFabric() override { core_->close(); }

  boost::asio::io_context& context() noexcept override { return core_->context; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Counters& counters() const noexcept override { return core_->counters; }
  void on_end(UniqueFunction<void(error_code)> handler) override { core_->on_end = std::move(handler); }
  Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) override;
  Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                    QueuePairEvents& events) override;
  void start(QueuePair& queue_pair) override;
  Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) override;
  Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request, QueuePairOptions options,
                                                   QueuePairEvents& events) override;
  void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) override;

  const Device& device() const noexcept { return *core_->device; }

 private:
  std::shared_ptr<Core> core_;
  Capabilities capabilities_;
};

}  // namespace rpcrdma::fabric::verbs
