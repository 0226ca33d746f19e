// SPDX-License-Identifier: BSD-3-Clause
#include "fabric.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "device/region.hpp"
#include "error.hpp"
#include "listener.hpp"

namespace rpcrdma::fabric {
namespace verbs {

VerbsFabric::VerbsFabric(FabricParts parts) : parts_(std::move(parts)) {
  const DeviceLimits& limits = parts_.device->limits();
  capabilities_ = {.name = "verbs",
                   .max_gather = limits.max_gather,
                   .max_read_depth = std::min(limits.max_inbound_reads, limits.max_outbound_reads),
                   .max_message = limits.max_message,
                   .remote_invalidation = limits.windows,
                   .exact_window_bounds = limits.exact_window_bounds,
                   .late_invalidation = !limits.windows,
                   .lockable_memory = parts_.device->lockable_memory()};
}

Result<std::unique_ptr<MemoryRegion>> VerbsFabric::register_memory(std::span<std::byte> memory) {
  return VerbsRegion::make(parts_.device, memory);
}

Result<std::unique_ptr<QueuePair>> VerbsFabric::make_connector(const Endpoint& peer, QueuePairOptions options,
                                                               QueuePairEvents& events) {
  if (const error_code lost = parts_.lifecycle->ensure()) return lost;
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(parts_.lifecycle->events()->channel().get(), &raw, nullptr, RDMA_PS_TCP) != 0) return last_error();
  CmId id(raw);
  Endpoint local = parts_.device->address();
  if (rdma_bind_addr(raw, local.data()) != 0) return parts_.lifecycle->refused(last_error());
  if (raw->verbs != parts_.device->context()) return parts_.lifecycle->refused(FabricError::device_lost);
  ConnectionInfo towards;
  towards.peer = peer;
  return VerbsQueuePair::make(parts_, std::move(id), VerbsQueuePair::Role::connector, towards, std::move(options),
                              events);
}

void VerbsFabric::start(QueuePair& queue_pair) { static_cast<VerbsQueuePair&>(queue_pair).start(); }

Result<std::unique_ptr<Listener>> VerbsFabric::listen(const Endpoint& local, RequestHandler handler) {
  if (const error_code lost = parts_.lifecycle->ensure()) return lost;
  return VerbsListener::make(parts_.lifecycle, local, std::move(handler), parts_.log);
}

Result<std::unique_ptr<QueuePair>> VerbsFabric::make_acceptor(std::unique_ptr<ConnectionRequest> request,
                                                              QueuePairOptions options, QueuePairEvents& events) {
  auto& pending = static_cast<VerbsRequest&>(*request);
  if (const error_code lost = parts_.lifecycle->ensure()) return lost;
  auto id = pending.take(parts_.lifecycle->events()->channel().get());
  if (!id) return id.error();
  return VerbsQueuePair::make(parts_, std::move(*id), VerbsQueuePair::Role::acceptor, pending.info(),
                              std::move(options), events);
}

void VerbsFabric::reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) {
  static_cast<VerbsRequest&>(*request).reject(private_data);
}

}  // namespace verbs

namespace {

// Checked first, because librdmacm writes to standard error if the kernel has no RDMA.
bool kernel_has_rdma() noexcept { return ::access("/dev/infiniband/rdma_cm", R_OK | W_OK) == 0; }

}  // namespace

bool verbs_device_at(const boost::asio::ip::address& address) noexcept {
  return kernel_has_rdma() && verbs::find_device_at(address).has_value();
}

Result<std::unique_ptr<Fabric>> open_verbs(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                           VerbsOptions options, Log log) {
  using namespace verbs;
  if (!kernel_has_rdma()) return FabricError::no_rdma;
  options = within_bounds(options);
  auto id = options.towards ? find_device_towards(address, options.resolve_timeout) : find_device_at(address);
  if (!id && id.error() != FabricError::no_device) return id.error();
  if (!id) id = options.towards ? find_device_at(address) : find_device_towards(address, options.resolve_timeout);
  if (!id) return id.error();
  auto lifecycle = DeviceLifecycle::make(context, std::move(*id), options, log);
  if (!lifecycle) return lifecycle.error();
  const std::shared_ptr<Device> device = (*lifecycle)->device();
  const DeviceLimits& limits = device->limits();
  log.debug("verbs: {} at {}: {}, {} buffers a message, read depth {}/{}", device->name(),
            device->address().address().to_string(), limits.windows ? "memory windows" : "no memory windows",
            limits.max_gather, limits.max_inbound_reads, limits.max_outbound_reads);
  return std::make_unique<VerbsFabric>(FabricParts{.context = context,
                                                   .lifecycle = std::move(*lifecycle),
                                                   .device = device,
                                                   .options = options,
                                                   .log = std::move(log)});
}

}  // namespace rpcrdma::fabric
