// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "core.hpp"

namespace rpcrdma::fabric::loopback {

class FabricImpl final : public LoopbackFabric {
 public:
  FabricImpl(std::shared_ptr<Core> core, std::string label, Capabilities capabilities);
  ~FabricImpl() override { state_->on_end.reset(); }

  boost::asio::io_context& context() noexcept override { return core_->context(); }
  const Capabilities& capabilities() const noexcept override { return state_->capabilities; }
  const Counters& counters() const noexcept override { return state_->counters; }
  void on_end(UniqueFunction<void(error_code)> handler) override;
  Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) override;
  Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                    QueuePairEvents& events) override;
  void start(QueuePair& queue_pair) override;
  Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) override;
  Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request, QueuePairOptions options,
                                                   QueuePairEvents& events) override;
  void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) override;

  void fail_nth(LoopbackOperation operation, std::uint64_t n, error_code error) override;
  std::uint64_t operations(LoopbackOperation operation) const noexcept override;
  void lose_device() override;
  void overstate_next_message(std::uint32_t octets) noexcept override { state_->overstatement = octets; }
  std::size_t regions() const noexcept override { return state_->regions.size(); }
  std::size_t bound_windows() const noexcept override { return state_->bound_windows; }
  std::vector<LoopbackExposure> exposures() const override { return state_->exposures(); }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<FabricState> state_;
};

}  // namespace rpcrdma::fabric::loopback
