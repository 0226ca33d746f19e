// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

Result<CmId> make_blocking_id() {
  rdma_cm_id* raw = nullptr;
  // Without a channel of its own each call on the id waits for its event.
  if (rdma_create_id(nullptr, &raw, nullptr, RDMA_PS_TCP) != 0) return FabricError::no_device;
  return CmId(raw);
}

}  // namespace

Result<CmId> find_device_at(const boost::asio::ip::address& address) {
  // Binding these succeeds without naming a device.
  if (address.is_unspecified() || address.is_loopback()) return FabricError::no_device;
  auto id = make_blocking_id();
  if (!id) return id.error();
  Endpoint endpoint(address, 0);
  if (rdma_bind_addr(id->get(), endpoint.data()) != 0 || id->get()->verbs == nullptr) return FabricError::no_device;
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
    if (errno != ETIMEDOUT || left <= kResolveTry) return FabricError::no_device;
  }
  if (id->get()->verbs == nullptr) return FabricError::no_device;
  return id;
}

Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept {
  Endpoint endpoint(address.sa_family == AF_INET6 ? Endpoint::protocol_type::v6() : Endpoint::protocol_type::v4(), 0);
  std::memcpy(endpoint.data(), &address, endpoint.size());
  endpoint.port(ntohs(port));
  return endpoint;
}

Result<std::shared_ptr<Device>> Device::make(CmId anchor, const VerbsOptions& options) {
  ProtectionDomain domain(ibv_alloc_pd(anchor->verbs));
  if (!domain) return last_error();
  auto limits = query_limits(domain.get(), anchor->port_num, options);
  if (!limits) return limits.error();
  return std::make_shared<Device>(std::move(anchor), std::move(domain), *limits);
}

Device::Device(CmId anchor, ProtectionDomain domain, const DeviceLimits& limits)
    : anchor_(std::move(anchor)), domain_(std::move(domain)), limits_(limits) {
  address_ = to_endpoint(*rdma_get_local_addr(anchor_.get()), 0);
}

ibv_mr* Device::find(std::uint32_t local_key) const noexcept {
  const auto found = registrations_.find(local_key);
  return found == registrations_.end() ? nullptr : found->second;
}

void Device::add(ibv_mr* registration) { registrations_[registration->lkey] = registration; }

void Device::remove(ibv_mr* registration) noexcept { registrations_.erase(registration->lkey); }

}  // namespace rpcrdma::fabric::verbs
