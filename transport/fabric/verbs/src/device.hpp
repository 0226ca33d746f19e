// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <unordered_map>

#include "handles.hpp"
#include "limits.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric::verbs {

/// One thread's share of a device: its protection domain, its registrations, its limits. The ibv_context is
/// the process's, opened by librdmacm, and stays open. Outlives whatever was made from it.
class Device {
 public:
  /// `anchor` is an id bound to the device; it keeps librdmacm's hold on it.
  static Result<std::shared_ptr<Device>> make(CmId anchor, const VerbsOptions& options);
  Device(CmId anchor, ProtectionDomain domain, const DeviceLimits& limits);

  ibv_context* context() const noexcept { return anchor_->verbs; }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  const DeviceLimits& limits() const noexcept { return limits_; }
  const char* name() const noexcept { return ibv_get_device_name(anchor_->verbs->device); }
  /// The local address that the anchor is bound to, port 0.
  const Endpoint& address() const noexcept { return address_; }

  /// The registration behind a local key, or null.
  ibv_mr* find(std::uint32_t local_key) const noexcept;
  void add(ibv_mr* registration);
  void remove(ibv_mr* registration) noexcept;

 private:
  CmId anchor_;
  ProtectionDomain domain_;
  DeviceLimits limits_;
  Endpoint address_;
  std::unordered_map<std::uint32_t, ibv_mr*> registrations_;
};

/// An id bound to the device at `address`; FabricError::no_device if there is none.
Result<CmId> find_device_at(const boost::asio::ip::address& address);
/// How long one try to resolve an address may take, of several: a neighbour that was not known at first has been seen
/// to be found only when all the time given was up.
inline constexpr std::chrono::milliseconds kResolveTry{200};
/// Likewise for the device that leads to a peer at `address`; blocks.
Result<CmId> find_device_towards(const boost::asio::ip::address& address, std::chrono::milliseconds timeout);

/// The local or peer address of an id.
Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept;

}  // namespace rpcrdma::fabric::verbs
