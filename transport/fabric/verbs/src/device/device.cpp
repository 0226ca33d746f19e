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

Result<CmId> make_blocking_id() {
  rdma_cm_id* raw = nullptr;
  // Without a channel each call on the id blocks until its event.
  if (rdma_create_id(nullptr, &raw, nullptr, RDMA_PS_TCP) != 0) return why_no_device(nullptr);
  return CmId(raw);
}

}  // namespace

Result<CmId> find_device_at(const boost::asio::ip::address& address) {
  // Binding these succeeds without naming a device.
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

Device::Device(const Endpoint& address, const VerbsOptions& options, Log log)
    : options_(options), log_(std::move(log)), address_(address) {}

error_code Device::attach(CmId anchor, std::shared_ptr<rdma_event_channel> channel) {
  if (rdma_migrate_id(anchor.get(), channel.get()) != 0) return last_error();
  channel_ = std::move(channel);
  anchor_ = std::move(anchor);
  use_ = SharedContext::of(anchor_->verbs);
  domain_.reset(ibv_alloc_pd(anchor_->verbs));
  error_code failed;
  if (!domain_) failed = last_error();
  if (!failed) {
    const auto limits = query_limits(domain_.get(), anchor_->port_num, options_);
    if (!limits)
      failed = limits.error();
    else if (known_ && *limits != limits_)
      failed = FabricError::unsupported;
    else
      limits_ = *limits;
  }
  for (auto entry = registered_.begin(); !failed && entry != registered_.end(); ++entry)
    failed = register_now(entry->first, entry->second);
  if (failed) {
    detach();
    return failed;
  }
  known_ = true;
  name_ = ibv_get_device_name(anchor_->verbs->device);
  return {};
}

void Device::detach() noexcept {
  for (auto& [local_key, entry] : registered_) {
    entry.registration.reset();
    keys_.set(local_key, 0);
  }
  domain_.reset();
  // Before the anchor, which keeps the context alive: it may close that.
  use_.reset();
  anchor_.reset();
}

bool Device::port_is_down() const noexcept {
  ibv_port_attr port{};
  return ibv_query_port(anchor_->verbs, anchor_->port_num, &port) == 0 && port.state != IBV_PORT_ACTIVE;
}

Result<std::uint32_t> Device::add(std::span<std::byte> memory) {
  Registered entry{memory, nullptr};
  const std::uint32_t local_key = keys_.add();
  if (attached()) {
    if (const error_code failed = register_now(local_key, entry)) {
      keys_.remove(local_key);
      return failed;
    }
  }
  registered_.emplace(local_key, std::move(entry));
  return local_key;
}

error_code Device::register_now(std::uint32_t local_key, Registered& entry) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (limits_.windows) access |= IBV_ACCESS_MW_BIND;
  auto registration = register_with(entry.memory, access);
  if (!registration) return registration.error();
  entry.registration = std::move(*registration);
  keys_.set(local_key, entry.registration->lkey);
  return {};
}

void Device::remove(std::uint32_t local_key) noexcept {
  const auto found = registered_.find(local_key);
  if (ibv_mr* registration = found->second.registration.release(); registration != nullptr) {
    if (const int error = ibv_dereg_mr(registration); error != 0)
      log_.error("verbs: memory stays registered, as a window is bound to it: {}", system_error(error).message());
  }
  registered_.erase(found);
  keys_.remove(local_key);
}

ibv_mr* Device::covering(BufferRef memory) const noexcept {
  const auto found = registered_.find(memory.local_key);
  if (found == registered_.end()) return nullptr;
  ibv_mr* region = found->second.registration.get();
  if (region == nullptr || memory.size == 0 || memory.size > region->length) return nullptr;
  const auto* begin = static_cast<const std::byte*>(region->addr);
  if (memory.data < begin) return nullptr;
  return static_cast<std::size_t>(memory.data - begin) <= region->length - memory.size ? region : nullptr;
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
  Registration registration(ibv_reg_mr(domain_.get(), memory.data(), memory.size(), access));
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
      "verbs: {}: cannot register {} bytes: the limit of locked memory is reached ({} refusals not logged); raise "
      "it (ulimit -l, LimitMEMLOCK=)",
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
