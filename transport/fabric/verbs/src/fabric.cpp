// SPDX-License-Identifier: BSD-3-Clause
#include "fabric.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "device/local_port.hpp"
#include "error.hpp"
#include "listener.hpp"
#include "queue_pair.hpp"
#include "rpcrdma/fabric/lasting.hpp"

namespace rpcrdma::fabric {
namespace verbs {
namespace {

class VerbsRegion final : public MemoryRegion {
 public:
  VerbsRegion(std::shared_ptr<Device> device, ibv_mr& region) : device_(std::move(device)), region_(region) {}
  ~VerbsRegion() override { device_->remove(&region_); }
  VerbsRegion(const VerbsRegion&) = delete;
  VerbsRegion& operator=(const VerbsRegion&) = delete;

  BufferRef buffer() const noexcept override {
    return {static_cast<std::byte*>(region_.addr), static_cast<std::uint32_t>(region_.length), region_.lkey};
  }

 private:
  std::shared_ptr<Device> device_;
  ibv_mr& region_;
};

}  // namespace

VerbsFabric::VerbsFabric(std::shared_ptr<Core> core) : core_(std::move(core)) {
  const DeviceLimits& limits = core_->device->limits();
  capabilities_ = {.name = kName,
                   .max_gather = limits.max_gather,
                   .max_read_depth = std::min(limits.max_inbound_reads, limits.max_outbound_reads),
                   .max_message = limits.max_message,
                   .remote_invalidation = limits.windows,
                   .exact_window_bounds = limits.exact_window_bounds,
                   .late_invalidation = !limits.windows,
                   .lockable_memory = core_->device->lockable_memory()};
}

Result<std::unique_ptr<MemoryRegion>> VerbsFabric::register_memory(std::span<std::byte> memory) {
  if (core_->lost()) return FabricError::device_lost;
  if (memory.empty() || memory.size() > std::numeric_limits<std::uint32_t>::max()) return BaseError::invalid_argument;
  const auto region = core_->device->add(memory);
  if (!region) return region.error();
  return std::make_unique<VerbsRegion>(core_->device, **region);
}

Result<std::unique_ptr<QueuePair>> VerbsFabric::make_connector(const Endpoint& peer, QueuePairOptions options,
                                                               QueuePairEvents& events) {
  if (core_->lost()) return FabricError::device_lost;
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(core_->events->channel().get(), &raw, nullptr, RDMA_PS_TCP) != 0) return last_error();
  CmId id(raw);
  auto port = bind_to_port(*raw, core_->device->address(), core_->device->limits());
  if (!port) return Core::refused(port.error());
  if (raw->verbs != core_->device->context()) {
    core_->lose(AsyncEvents::Loss::fault);  // the address now belongs to another device
    return FabricError::device_lost;
  }
  ConnectionInfo towards;
  towards.peer = peer;
  auto made =
      VerbsQueuePair::make(core_, std::move(id), VerbsQueuePair::Role::connector, towards, std::move(options), events);
  if (made) static_cast<VerbsQueuePair&>(**made).keep_port(std::move(*port));
  return made;
}

void VerbsFabric::start(QueuePair& queue_pair) { static_cast<VerbsQueuePair&>(queue_pair).start(); }

Result<std::unique_ptr<Listener>> VerbsFabric::listen(const Endpoint& local, RequestHandler handler) {
  if (core_->lost()) return FabricError::device_lost;
  return VerbsListener::make(core_, local, std::move(handler));
}

Result<std::unique_ptr<QueuePair>> VerbsFabric::make_acceptor(std::unique_ptr<ConnectionRequest> request,
                                                              QueuePairOptions options, QueuePairEvents& events) {
  if (core_->lost()) return FabricError::device_lost;
  auto& pending = static_cast<VerbsRequest&>(*request);
  auto id = pending.take(core_->events->channel().get());
  if (!id) return id.error();
  return VerbsQueuePair::make(core_, std::move(*id), VerbsQueuePair::Role::acceptor, pending.info(), std::move(options),
                              events);
}

void VerbsFabric::reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) {
  static_cast<VerbsRequest&>(*request).reject(private_data);
}

}  // namespace verbs

namespace {

// Returns whether this process can use the kernel's RDMA connection manager. To be checked before any function of
// librdmacm is called, because librdmacm writes to standard error if the kernel has no RDMA.
bool kernel_has_rdma() noexcept { return ::access("/dev/infiniband/rdma_cm", R_OK | W_OK) == 0; }

Result<std::unique_ptr<verbs::VerbsFabric>> open_with(boost::asio::io_context& context, Result<verbs::CmId> id,
                                                      const VerbsOptions& options, verbs::OpenDevices& devices,
                                                      const Log& log) {
  if (!id) return id.error();
  auto core = verbs::Core::make(context, std::move(*id), options, devices, log);
  if (!core) return core.error();
  return std::make_unique<verbs::VerbsFabric>(std::move(*core));
}

}  // namespace

bool verbs_device_at(const boost::asio::ip::address& address) noexcept {
  return kernel_has_rdma() && verbs::find_device_at(address).has_value();
}

Verbs::Verbs() : devices_(std::make_shared<verbs::OpenDevices>()) {}

Result<std::unique_ptr<Fabric>> Verbs::open(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                            VerbsOptions options, Log log) {
  using namespace verbs;
  if (!kernel_has_rdma()) return FabricError::no_rdma;
  options = within_bounds(options);
  auto id = options.towards ? find_device_towards(address, options.resolve_timeout) : find_device_at(address);
  if (!id && id.error() != FabricError::no_device) return id.error();
  if (!id) id = options.towards ? find_device_at(address) : find_device_towards(address, options.resolve_timeout);
  if (!id) return id.error();
  const Endpoint local = to_endpoint(*rdma_get_local_addr(id->get()), 0);
  auto first = open_with(context, std::move(id), options, *devices_, log);
  if (!first) return first.error();
  const Device& device = (*first)->device();
  const DeviceLimits& limits = device.limits();
  LastingOptions lasting;
  lasting.name = device.name() + " at " + local.address().to_string();
  log.debug("verbs: {}: {}, at most {} buffers in a message, IRD {}, ORD {}", lasting.name,
            limits.windows ? "memory windows" : "no memory windows", limits.max_gather, limits.max_inbound_reads,
            limits.max_outbound_reads);
  auto again = [&context, local, options, devices = devices_, log]() -> Result<std::unique_ptr<Fabric>> {
    return open_with(context, find_device_at(local.address()), options, *devices, log);
  };
  return make_lasting(std::move(*first), std::move(again), std::move(lasting), std::move(log));
}

}  // namespace rpcrdma::fabric
