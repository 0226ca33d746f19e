// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "device/event_channel.hpp"
#include "device/limits.hpp"
#include "device/open_devices.hpp"
#include "handles.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric::verbs {

/// One fabric's share of a device: its protection domain, its registrations, its limits. librdmacm opens the
/// ibv_context once for the process. Must outlive all objects made from it.
class Device {
 public:
  /// The objects that keep the device in use. Destroyed after all objects that are made from the device.
  struct Hold {
    Hold() = default;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    ProtectionDomain domain;
    std::shared_ptr<OpenDevice> use;
    CmId anchor;
    std::shared_ptr<rdma_event_channel> channel;
  };

  /// `anchor` is an id bound to the device, and keeps the device open; its events move to `channel`.
  static Result<std::shared_ptr<Device>> make(CmId anchor, std::shared_ptr<rdma_event_channel> channel,
                                              const VerbsOptions& options, OpenDevices& devices, Log log);
  Device(std::shared_ptr<Hold> hold, const DeviceLimits& limits, Log log);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Call it when the device is lost: afterwards only holders of hold() use the device.
  void release() noexcept { hold_.reset(); }
  const std::shared_ptr<Hold>& hold() const noexcept { return hold_; }
  /// Sets the handler of the anchor's events; `handler` may be null. This function and those below that use the device
  /// must not be called after release().
  void set_handler(CmHandler* handler) noexcept { hold_->anchor->context = handler; }
  void note_removed() noexcept { hold_->use->note_removed(); }
  const std::shared_ptr<OpenDevice>& use() const noexcept { return hold_->use; }
  ibv_context* context() const noexcept { return hold_->anchor->verbs; }
  ibv_pd* domain() const noexcept { return hold_->domain.get(); }
  bool port_is_down() const noexcept;

  const DeviceLimits& limits() const noexcept { return limits_; }
  const std::string& name() const noexcept { return name_; }
  /// The local address to which the anchor is bound, with port 0.
  const Endpoint& address() const noexcept { return address_; }

  /// Registers memory until remove(), without access rights for peers. Windows may be bound to it.
  Result<ibv_mr*> add(std::span<std::byte> memory);
  void remove(ibv_mr* region) noexcept;
  /// The registration that holds all of `memory`; null if there is none or `memory` is empty. Found by key, else by
  /// address, because the key may belong to an earlier fabric.
  ibv_mr* covering(BufferRef memory) const noexcept;
  /// Registers exactly `sink`, for one RDMA Read. On iWARP a Read Request discloses the key of its sink to the peer,
  /// which can use this key as long as it is valid. The key of the memory around the sink stays secret.
  Result<Registration> register_sink(BufferRef sink);
  /// Registers exactly `memory`, with the rights of one exposure: for devices without memory windows.
  Result<Registration> register_exposure(BufferRef memory, Access access);
  /// The value of Capabilities::lockable_memory.
  std::uint64_t lockable_memory() const noexcept;

 private:
  Result<Registration> register_with(std::span<std::byte> memory, int access);
  void log_limit(std::size_t bytes);

  std::shared_ptr<Hold> hold_;
  const DeviceLimits limits_;
  const Log log_;
  const std::string name_;
  const Endpoint address_;
  std::optional<std::chrono::steady_clock::time_point> limit_logged_;  // when log_limit() last wrote
  std::uint64_t limit_unlogged_ = 0;                                   // refusals since then
  std::unordered_map<std::uint32_t, ibv_mr*> regions_;                 // by local key
};

/// An id bound to the device at `address`. If there is none, fails with FabricError::no_device or the error of
/// why_no_device().
Result<CmId> find_device_at(const boost::asio::ip::address& address);
/// The time limit of one attempt to resolve an address; several attempts follow each other. While the kernel learns the
/// hardware address of the next hop, an attempt on rxe may take the whole limit.
inline constexpr std::chrono::milliseconds kResolveTry{200};
/// An id bound to the device that leads to a peer at `address`; blocks.
Result<CmId> find_device_towards(const boost::asio::ip::address& address, std::chrono::milliseconds timeout);

/// The endpoint with `port`, given in network byte order, at `address`: the local or peer address of an rdma_cm_id.
Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept;

}  // namespace rpcrdma::fabric::verbs
