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

/// The objects of one fabric on a device: a protection domain, memory registrations, and the limits of the device. The
/// fabrics of a process that use the same device have one Device each, but share the ibv_context, which librdmacm opens
/// once for the process. A Device must outlive all objects that are made from it.
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

  /// `anchor` is an rdma_cm id that is bound to the device and keeps the device open. The events of `anchor` move to
  /// `channel`.
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
  /// The local IP address to which the rdma_cm id Hold::anchor is bound. The port is 0.
  const Endpoint& address() const noexcept { return address_; }

  /// Registers memory until remove(), without access rights for peers. Windows may be bound to it.
  Result<ibv_mr*> add(std::span<std::byte> memory);
  void remove(ibv_mr* region) noexcept;
  /// Returns the registration that contains all of `memory`; null if there is none or `memory` is empty. First searches
  /// by the local key of `memory`. If that fails, searches by address, because the key may belong to an earlier fabric.
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
  std::uint64_t limit_unlogged_ = 0;                                   // refused registrations not logged since then
  std::unordered_map<std::uint32_t, ibv_mr*> regions_;                 // by local key
};

/// Returns an rdma_cm id bound to the device at `address`. If the id cannot be bound, fails with an error that
/// why_no_device() returns, such as FabricError::no_device.
Result<CmId> find_device_at(const boost::asio::ip::address& address);
/// The time limit of one attempt to resolve an address. If an attempt times out, the next one follows until the time
/// limit of the whole operation. Attempts are short, because on rxe an attempt that begins before the kernel knows the
/// hardware address of the next hop may take its whole limit.
inline constexpr std::chrono::milliseconds kResolveTry{200};
/// Returns an id bound to the device through which this host reaches a peer at `address`. Blocks until the kernel has
/// resolved the address, but for about `timeout` at most. Fails with the same errors as find_device_at().
Result<CmId> find_device_towards(const boost::asio::ip::address& address, std::chrono::milliseconds timeout);

/// Makes an Endpoint of `address`, which is the local or the peer address of an rdma_cm_id, and of `port`, which is in
/// network byte order. The port in `address` is not used.
Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept;

}  // namespace rpcrdma::fabric::verbs
