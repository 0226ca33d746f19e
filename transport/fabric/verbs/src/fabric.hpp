// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {

class VerbsFabric final : public Fabric {
 public:
  explicit VerbsFabric(FabricParts parts);

  boost::asio::io_context& context() noexcept override { return parts_.context; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Counters& counters() const noexcept override { return *parts_.counters; }
  void on_end(UniqueFunction<void(error_code)> /*handler*/) override {}
  Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) override;
  Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                    QueuePairEvents& events) override;
  void start(QueuePair& queue_pair) override;
  Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) override;
  Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request, QueuePairOptions options,
                                                   QueuePairEvents& events) override;
  void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) override;

 private:
  FabricParts parts_;
  Capabilities capabilities_;
};

}  // namespace rpcrdma::fabric::verbs
