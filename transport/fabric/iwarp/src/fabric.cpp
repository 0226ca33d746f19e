// SPDX-License-Identifier: BSD-3-Clause
#include <limits>
#include <system_error>

#include "setup/listener.hpp"
#include "stream/queue_pair.hpp"

namespace rpcrdma::fabric {
namespace iwarp {
namespace {

class Region final : public MemoryRegion {
 public:
  Region(std::shared_ptr<FabricState> state, BufferRef buffer) : state_(std::move(state)), buffer_(buffer) {}
  ~Region() override { state_->regions.erase(buffer_.local_key); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  BufferRef buffer() const noexcept override { return buffer_; }

 private:
  std::shared_ptr<FabricState> state_;
  BufferRef buffer_;
};

class IwarpFabric final : public Fabric {
 public:
  explicit IwarpFabric(std::shared_ptr<FabricState> state) : state_(std::move(state)) {}

  boost::asio::io_context& context() noexcept override { return state_->context; }
  const Capabilities& capabilities() const noexcept override { return state_->capabilities; }
  const Counters& counters() const noexcept override { return state_->counters; }
  void on_end(UniqueFunction<void(error_code)> /*handler*/) override {}
  Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) override;
  Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                    QueuePairEvents& events) override;
  void start(QueuePair& queue_pair) override { static_cast<IwarpQueuePair&>(queue_pair).start(); }
  Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) override;
  Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request, QueuePairOptions options,
                                                   QueuePairEvents& events) override;
  void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) override {
    static_cast<Request&>(*request).reject(private_data.first(std::min(private_data.size(), kMaxOwnPrivateData)));
  }

 private:
  std::shared_ptr<FabricState> state_;
};

Result<std::unique_ptr<MemoryRegion>> IwarpFabric::register_memory(std::span<std::byte> memory) {
  if (memory.size() > std::numeric_limits<std::uint32_t>::max()) return make_error_code(BaseError::invalid_argument);
  // Skips 0 and the keys of existing regions.
  while (state_->next_key == 0 || state_->regions.contains(state_->next_key)) ++state_->next_key;
  const BufferRef buffer{memory.data(), static_cast<std::uint32_t>(memory.size()), state_->next_key++};
  state_->regions.emplace(buffer.local_key, memory);
  return std::unique_ptr<MemoryRegion>(std::make_unique<Region>(state_, buffer));
}

Result<std::unique_ptr<QueuePair>> IwarpFabric::make_connector(const Endpoint& peer, QueuePairOptions options,
                                                               QueuePairEvents& events) {
  if (options.private_data.size() > kMaxOwnPrivateData) return make_error_code(BaseError::invalid_argument);
  auto stream = std::make_shared<Stream>(state_, std::move(options), events);
  return std::unique_ptr<QueuePair>(std::make_unique<IwarpQueuePair>(std::move(stream), peer));
}

Result<std::unique_ptr<Listener>> IwarpFabric::listen(const Endpoint& local, RequestHandler handler) {
  auto listener = std::make_shared<ListenerState>(state_, std::move(handler));
  if (const error_code error = listener->open(local)) return error;
  listener->start();
  return std::unique_ptr<Listener>(std::make_unique<IwarpListener>(std::move(listener)));
}

Result<std::unique_ptr<QueuePair>> IwarpFabric::make_acceptor(std::unique_ptr<ConnectionRequest> request,
                                                              QueuePairOptions options, QueuePairEvents& events) {
  if (options.private_data.size() > kMaxOwnPrivateData) return make_error_code(BaseError::invalid_argument);
  auto stream = std::make_shared<Stream>(state_, std::move(options), events);
  stream->set_request(std::unique_ptr<Request>(static_cast<Request*>(request.release())));
  return std::unique_ptr<QueuePair>(std::make_unique<IwarpQueuePair>(std::move(stream), std::nullopt));
}

}  // namespace
}  // namespace iwarp

Result<std::unique_ptr<Fabric>> open_iwarp(boost::asio::io_context& context, IwarpOptions options, Log log) {
  try {
    auto state = std::make_shared<iwarp::FabricState>(context, options, std::move(log));
    return std::unique_ptr<Fabric>(std::make_unique<iwarp::IwarpFabric>(std::move(state)));
  } catch (const std::system_error& error) {
    return error_code(error.code());
  }
}

}  // namespace rpcrdma::fabric
