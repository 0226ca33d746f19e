// SPDX-License-Identifier: BSD-3-Clause
#include "device/device.hpp"

#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "diagnosis.hpp"
#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::minutes kLimitLogPause{1};

bool covers(const ibv_mr& region, BufferRef memory) noexcept {
  const auto* begin = static_cast<const std::byte*>(region.addr);
  if (memory.data < begin || memory.size > region.length) return false;
  return static_cast<std::size_t>(memory.data - begin) <= region.length - memory.size;
}

Result<CmId> make_blocking_id() {
  rdma_cm_id* raw = nullptr;
  // Without an event channel, each call on the id blocks until its event arrives.
  if (rdma_create_id(nullptr, &raw, nullptr, RDMA_PS_TCP) != 0) return why_no_device(nullptr);
  return CmId(raw);
}

}  // namespace

Result<CmId> find_device_at(const boost::asio::ip::address& address) {
  // Binding these addresses succeeds without a device.
  if (address.is_unspecified() || address.is_loopback()) return FabricError::no_device;
  auto id = make_blocking_id();
  if (!id) return id.error();
  Endpoint endpoint(address, 0);
  if (rdma_bind_addr(id->get(), endpoint.data()) != 0 || id->get()->verbs == nullptr) return why_no_device(id->get());
  return id;
}

Result<CmId> find_device_towards(const boost::asio::ip::address& address, std::chrono::milliseconds timeout) {
  if (address.is_unspecified() || address.is_loopback()) return FabricError::no_device;
  auto id = make_blocking_id();
  if (!id) return id.error();
  Endpoint endpoint(address, 0);
  for (auto left = timeout;; left -= kResolveTry) {
    const auto milliseconds = static_cast<int>(std::min(left, kResolveTry).count());
    if (rdma_resolve_addr(id->get(), nullptr, endpoint.data(), milliseconds) == 0) break;
    if (errno != ETIMEDOUT || left <= kResolveTry) return why_no_device(id->get());
  }
  if (id->get()->verbs == nullptr) return why_no_device(id->get());
  return id;
}

Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept {
  Endpoint endpoint(address.sa_family == AF_INET6 ? Endpoint::protocol_type::v6() : Endpoint::protocol_type::v4(), 0);
  std::memcpy(endpoint.data(), &address, endpoint.size());
  endpoint.port(ntohs(port));
  return endpoint;
}

// The order matters. The protection domain must be destroyed before `use`, whose destruction may close the device. The
// anchor is destroyed after both, because it keeps the context of the device alive.
Device::Hold::~Hold() {
  domain.reset();
  use.reset();
  anchor.reset();
}

Result<std::shared_ptr<Device>> Device::make(CmId anchor, std::shared_ptr<rdma_event_channel> channel,
                                             const VerbsOptions& options, OpenDevices& devices, Log log) {
  if (rdma_migrate_id(anchor.get(), channel.get()) != 0) return last_error();
  auto hold = std::make_shared<Hold>();
  hold->channel = std::move(channel);
  hold->use = devices.of(*anchor->verbs);
  hold->domain.reset(ibv_alloc_pd(anchor->verbs));
  hold->anchor = std::move(anchor);
  if (!hold->domain) return last_error();
  const auto limits = query_limits(hold->domain.get(), hold->anchor->port_num, options);
  if (!limits) return limits.error();
  return std::make_shared<Device>(std::move(hold), *limits, std::move(log));
}

Device::Device(std::shared_ptr<Hold> hold, const DeviceLimits& limits, Log log)
    : hold_(std::move(hold)),
      limits_(limits),
      log_(std::move(log)),
      name_(ibv_get_device_name(context()->device)),
      address_(to_endpoint(*rdma_get_local_addr(hold_->anchor.get()), 0)) {}

bool Device::port_is_down() const noexcept {
  ibv_port_attr port{};
  return ibv_query_port(context(), hold_->anchor->port_num, &port) == 0 && port.state != IBV_PORT_ACTIVE;
}

Result<ibv_mr*> Device::add(std::span<std::byte> memory) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (limits_.windows) access |= IBV_ACCESS_MW_BIND;
  auto registration = register_with(memory, access);
  if (!registration) return registration.error();
  ibv_mr* region = registration->release();
  regions_.emplace(region->lkey, region);
  return region;
}

void Device::remove(ibv_mr* region) noexcept {
  regions_.erase(region->lkey);
  if (const int error = ibv_dereg_mr(region); error != 0)
    log_.error("verbs: {}: cannot deregister memory, to which a window may still be bound; it stays registered: {}",
               name_, system_error(error).message());
}

ibv_mr* Device::covering(BufferRef memory) const noexcept {
  if (memory.size == 0) return nullptr;
  if (const auto found = regions_.find(memory.local_key); found != regions_.end() && covers(*found->second, memory))
    return found->second;
  for (const auto& [key, region] : regions_)
    if (covers(*region, memory)) return region;
  return nullptr;
}

Result<Registration> Device::register_sink(BufferRef sink) {
  if (covering(sink) == nullptr) return BaseError::invalid_argument;
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (limits_.remote_writable_sinks) access |= IBV_ACCESS_REMOTE_WRITE;
  return register_with(sink.octets(), access);
}

Result<Registration> Device::register_exposure(BufferRef memory, Access access) {
  if (covering(memory) == nullptr) return BaseError::invalid_argument;
  const int rights =
      access == Access::remote_write ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : int{IBV_ACCESS_REMOTE_READ};
  return register_with(memory.octets(), rights);
}

Result<Registration> Device::register_with(std::span<std::byte> memory, int access) {
  Registration registration(ibv_reg_mr(domain(), memory.data(), memory.size(), access));
  if (registration) return registration;
  const error_code failed = last_error();
  if (failed != system_error(ENOMEM)) return failed;
  log_limit(memory.size());
  return FabricError::locked_memory;
}

void Device::log_limit(std::size_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (limit_logged_ && now - *limit_logged_ < kLimitLogPause) {
    ++limit_unlogged_;
    return;
  }
  limit_logged_ = now;
  log_.warn(
      "verbs: {}: cannot register {} bytes: out of memory, probably because of the limit of locked memory: raise it "
      "(ulimit -l, LimitMEMLOCK=); {} more refusals since the last such line",
      name_, bytes, std::exchange(limit_unlogged_, 0));
}

std::uint64_t Device::lockable_memory() const noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      (!limits_.limit_binds_always && may_lock_memory()))
    return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

}  // namespace rpcrdma::fabric::verbs
