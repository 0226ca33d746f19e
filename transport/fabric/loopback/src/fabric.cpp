// SPDX-License-Identifier: BSD-3-Clause
#include "fabric.hpp"

#include <limits>

#include "listener.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::loopback {
namespace {

class Region final : public MemoryRegion {
 public:
  Region(std::shared_ptr<FabricState> state, BufferRef buffer) : state_(std::move(state)), buffer_(buffer) {}
  ~Region() override { state_->regions.erase(buffer_.local_key); }
  BufferRef buffer() const noexcept override { return buffer_; }

 private:
  std::shared_ptr<FabricState> state_;
  BufferRef buffer_;
};

}  // namespace

FabricImpl::FabricImpl(std::shared_ptr<Core> core, std::string label, Capabilities capabilities)
    : core_(std::move(core)), state_(std::make_shared<FabricState>()) {
  state_->capabilities = capabilities;
  state_->label = std::move(label);
}

Result<std::unique_ptr<MemoryRegion>> FabricImpl::register_memory(std::span<std::byte> memory) {
  if (memory.size() > std::numeric_limits<std::uint32_t>::max()) return make_error_code(BaseError::invalid_argument);
  if (const error_code error = state_->begin(LoopbackOperation::register_memory)) return error;
  const BufferRef buffer{memory.data(), static_cast<std::uint32_t>(memory.size()), state_->next_key++};
  state_->regions.emplace(buffer.local_key, memory);
  return std::unique_ptr<MemoryRegion>(std::make_unique<Region>(state_, buffer));
}

Result<std::unique_ptr<QueuePair>> FabricImpl::make_connector(const Endpoint& peer, QueuePairOptions options,
                                                              QueuePairEvents& events) {
  if (const error_code error = state_->begin(LoopbackOperation::make_queue_pair)) return error;
  auto end = std::make_shared<End>(core_, state_, std::move(options), events);
  end->enlist();
  return std::unique_ptr<QueuePair>(std::make_unique<LoopbackQueuePair>(std::move(end), peer));
}

void FabricImpl::start(QueuePair& queue_pair) { static_cast<LoopbackQueuePair&>(queue_pair).start(); }

Result<std::unique_ptr<Listener>> FabricImpl::listen(const Endpoint& local, RequestHandler handler) {
  if (const error_code error = state_->begin(LoopbackOperation::listen)) return error;
  auto state = std::make_shared<ListenerState>(std::move(handler));
  const Result<Endpoint> at = core_->add_listener(local, state);
  if (!at) return at.error();
  return std::unique_ptr<Listener>(std::make_unique<LoopbackListener>(core_, std::move(state), *at));
}

Result<std::unique_ptr<QueuePair>> FabricImpl::make_acceptor(std::unique_ptr<ConnectionRequest> request,
                                                             QueuePairOptions options, QueuePairEvents& events) {
  // On failure the request is destroyed, which rejects it.
  if (const error_code error = state_->begin(LoopbackOperation::make_queue_pair)) return error;
  auto end = std::make_shared<End>(core_, state_, std::move(options), events);
  end->enlist();
  ConnectionInfo info = request->info();
  end->set_connector(static_cast<LoopbackRequest&>(*request).take_connector(), std::move(info));
  return std::unique_ptr<QueuePair>(std::make_unique<LoopbackQueuePair>(std::move(end), std::nullopt));
}

/// The private data of a rejection is dropped: loopback does not call on_rejected.
void FabricImpl::reject(std::unique_ptr<ConnectionRequest> request, Octets) { request.reset(); }

void FabricImpl::on_end(UniqueFunction<void(error_code)> handler) { state_->on_end = std::move(handler); }

void FabricImpl::lose_device() {
  state_->lost = true;
  core_->end_all(*state_);
  core_->later([state = state_] {
    if (auto handler = std::move(state->on_end)) handler(FabricError::device_lost);
  });
}

void FabricImpl::fail_nth(LoopbackOperation operation, std::uint64_t n, error_code error) {
  state_->faults.arm(operation, n, error);
}

std::uint64_t FabricImpl::operations(LoopbackOperation operation) const noexcept {
  return state_->faults.count(operation);
}

}  // namespace rpcrdma::fabric::loopback
