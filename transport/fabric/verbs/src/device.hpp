// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "context_use.hpp"
#include "event_channel.hpp"
#include "handles.hpp"
#include "limits.hpp"
#include "local_keys.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric::verbs {

/// One thread's share of a device: its protection domain, its registrations, its limits. The ibv_context is
/// the process's, opened by librdmacm. The device may go and come back: what is registered is then registered anew,
/// under the same local keys. Outlives whatever was made from it.
class Device {
 public:
  Device(const Endpoint& address, const VerbsOptions& options, Log log);
  ~Device() { detach(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// `anchor` is an id bound to the device; it keeps librdmacm's hold on it, and moves to `channel`. A device that is
  /// not of the kind that was here before is refused.
  error_code attach(CmId anchor, std::shared_ptr<rdma_event_channel> channel);
  /// Gives everything back. Nothing of a queue pair may be left.
  void detach() noexcept;
  bool attached() const noexcept { return anchor_ != nullptr; }
  /// Of the anchor's events; may be null. While attached.
  void set_handler(CmHandler* handler) noexcept { anchor_->context = handler; }
  /// While attached.
  ContextUse& use() const noexcept { return *use_; }

  ibv_context* context() const noexcept { return anchor_ ? anchor_->verbs : nullptr; }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  const DeviceLimits& limits() const noexcept { return limits_; }
  /// While attached.
  bool port_is_down() const noexcept;
  const std::string& name() const noexcept { return name_; }
  /// The local address that the anchor is bound to, port 0.
  const Endpoint& address() const noexcept { return address_; }

  /// Registers memory, which the caller keeps until remove(); on a device that is gone, when it is back. The local key.
  Result<std::uint32_t> add(std::span<std::byte> memory);
  void remove(std::uint32_t local_key) noexcept;
  /// The registration that holds all of `memory`, which is not empty; null if there is none.
  ibv_mr* covering(BufferRef memory) const noexcept;
  /// A registration of just `sink`, for one RDMA Read. On iWARP a Read Request names its sink to the peer, who may use
  /// that key as long as it is valid: not that of all the memory around it, therefore.
  Result<Registration> register_sink(BufferRef sink) const;
  const LocalKeys& keys() const noexcept { return keys_; }

 private:
  struct Registered {
    std::span<std::byte> memory;
    Registration registration;
  };
  void log_limit(error_code failed, std::size_t octets) const;
  error_code register_now(std::uint32_t local_key, Registered& entry);

  VerbsOptions options_;
  Log log_;
  std::shared_ptr<rdma_event_channel> channel_;  // outlives the anchor
  CmId anchor_;
  std::shared_ptr<ContextUse> use_;
  ProtectionDomain domain_;
  DeviceLimits limits_;
  bool known_ = false;  // limits_ are those of a device that was here
  std::string name_;
  Endpoint address_;
  LocalKeys keys_;
  std::unordered_map<std::uint32_t, Registered> registered_;
};

/// An id bound to the device at `address`; why_no_device() if there is none.
Result<CmId> find_device_at(const boost::asio::ip::address& address);
/// How long one try to resolve an address may take, of several: a neighbour that was not known at first has been seen
/// to be found only when all the time given was up.
inline constexpr std::chrono::milliseconds kResolveTry{200};
/// Likewise for the device that leads to a peer at `address`; blocks.
Result<CmId> find_device_towards(const boost::asio::ip::address& address, std::chrono::milliseconds timeout);

/// The local or peer address of an id.
Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept;

}  // namespace rpcrdma::fabric::verbs
