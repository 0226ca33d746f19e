// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "device/event_channel.hpp"
#include "device/limits.hpp"
#include "device/local_keys.hpp"
#include "device/shared_context.hpp"
#include "handles.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric::verbs {

/// One thread's share of a device: its protection domain, its registrations, its limits. librdmacm opens the
/// ibv_context once for the process. The device may be removed and come back: memory is then registered again under the
/// same local keys. Outlives everything made from it.
class Device {
 public:
  Device(const Endpoint& address, const VerbsOptions& options, Log log);
  ~Device() { detach(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// `anchor` is an id bound to the device, which keeps it open; it moves to `channel`. FabricError::unsupported if the
  /// device differs from the one that was attached before.
  error_code attach(CmId anchor, std::shared_ptr<rdma_event_channel> channel);
  /// Releases everything. All queue pairs have been destroyed.
  void detach() noexcept;
  bool attached() const noexcept { return anchor_ != nullptr; }
  /// Gets the anchor's events; may be null. While attached.
  void set_handler(CmHandler* handler) noexcept { anchor_->context = handler; }
  /// While attached.
  SharedContext& use() const noexcept { return *use_; }

  ibv_context* context() const noexcept { return anchor_ ? anchor_->verbs : nullptr; }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  const DeviceLimits& limits() const noexcept { return limits_; }
  /// While attached.
  bool port_is_down() const noexcept;
  const std::string& name() const noexcept { return name_; }
  /// The local address that the anchor is bound to, port 0.
  const Endpoint& address() const noexcept { return address_; }

  /// Registers memory that the caller keeps until remove(), and returns its local key. While the device is lost, the
  /// registration waits until it is back.
  Result<std::uint32_t> add(std::span<std::byte> memory);
  void remove(std::uint32_t local_key) noexcept;
  /// The registration that holds all of `memory`, which is not empty; null if there is none.
  ibv_mr* covering(BufferRef memory) const noexcept;
  /// A registration of just `sink`, for one RDMA Read. On iWARP a Read Request names its sink to the peer, which may
  /// use that key as long as it is valid; the key of the memory around it stays secret.
  Result<Registration> register_sink(BufferRef sink);
  /// A registration of just `memory`, with the rights of one exposure: for devices without memory windows.
  Result<Registration> register_exposure(BufferRef memory, Access access);
  /// Bytes that may be registered at once, for Capabilities::lockable_memory.
  std::uint64_t lockable_memory() const noexcept;
  const LocalKeys& keys() const noexcept { return keys_; }

 private:
  struct Registered {
    std::span<std::byte> memory;
    Registration registration;
  };
  Result<Registration> register_with(std::span<std::byte> memory, int access);
  void log_limit(std::size_t bytes);
  error_code register_now(std::uint32_t local_key, Registered& entry);

  VerbsOptions options_;
  Log log_;
  std::shared_ptr<rdma_event_channel> channel_;  // outlives the anchor
  CmId anchor_;
  std::shared_ptr<SharedContext> use_;
  ProtectionDomain domain_;
  DeviceLimits limits_;
  bool known_ = false;  // limits_ are those of a device that was attached
  std::string name_;
  Endpoint address_;
  LocalKeys keys_;
  std::optional<std::chrono::steady_clock::time_point> limit_logged_;  // when log_limit() last wrote
  std::uint64_t limit_unlogged_ = 0;                                   // refusals since
  std::unordered_map<std::uint32_t, Registered> registered_;
};

/// An id bound to the device at `address`; why_no_device() if there is none.
Result<CmId> find_device_at(const boost::asio::ip::address& address);
/// How long one of several attempts to resolve an address may take: the answer of a neighbour that was not known at
/// first may be reported only when the time given has passed (rxe).
inline constexpr std::chrono::milliseconds kResolveTry{200};
/// Likewise for the device that leads to a peer at `address`; blocks.
Result<CmId> find_device_towards(const boost::asio::ip::address& address, std::chrono::milliseconds timeout);

/// The local or peer address of an id.
Endpoint to_endpoint(const sockaddr& address, std::uint16_t port) noexcept;

}  // namespace rpcrdma::fabric::verbs
