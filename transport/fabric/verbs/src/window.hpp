// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <random>
#include <unordered_map>

#include "device/device.hpp"

namespace rpcrdma::fabric::verbs {

class WindowTable;

/// Exposes a range through a memory window of type 2B. If the device has no such windows, each exposure registers the
/// range anew. The caller of make_window() owns this object. The queue pair finds it in its WindowTable, and releases
/// the device objects of the windows in the table when the connection ends.
class VerbsWindow final : public Window {
 public:
  enum class State : std::uint8_t { idle, bound, invalidating };

  VerbsWindow(std::shared_ptr<WindowTable> table, std::uint32_t serial, MemoryWindowHandle handle,
              std::uint32_t key_step);
  ~VerbsWindow() override;

  bool bound() const noexcept override { return state_ == State::bound; }
  Segment segment() const noexcept override { return segment_; }
  State state() const noexcept { return state_; }
  /// Identifies the window in its table; not reused.
  std::uint32_t serial() const noexcept { return serial_; }
  bool on_device() const noexcept { return handle_ != nullptr; }

  /// For a window that uses a memory window of the device: fills in the members of `request` that describe the bind.
  /// The bind gives the window a handle that differs from the previous handle.
  error_code prepare_bind(BufferRef memory, Access access, ibv_send_wr& request);
  /// For a window that uses no memory window of the device: registers the memory, which exposes it at once.
  error_code expose(BufferRef memory, Access access);
  /// For a window that uses no memory window of the device: deregisters the memory, which ends the exposure.
  void conceal() noexcept { registration_.reset(); }

  void set_invalidating() noexcept { state_ = State::invalidating; }
  /// To be called when the peer has invalidated the window, or an invalidation by this side has completed.
  void set_idle() noexcept { state_ = State::idle; }
  /// Call it before the queue pair is destroyed: a window must not outlive its queue pair on the device.
  void release_device() noexcept;

 private:
  friend class WindowTable;

  std::shared_ptr<WindowTable> table_;
  const std::uint32_t serial_;
  const std::uint32_t key_step_;  // odd, random
  MemoryWindowHandle handle_;
  Registration registration_;
  std::uint32_t key_ = 0;  // the handle's key after the latest bind
  Segment segment_;
  State state_ = State::idle;
};

/// The windows of one queue pair. The queue pair and the windows share the table, so that they may be destroyed in any
/// order.
class WindowTable : public std::enable_shared_from_this<WindowTable> {
 public:
  explicit WindowTable(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Result<std::unique_ptr<Window>> make_window();
  /// The window that is exposed to the peer as `handle`, or null.
  VerbsWindow* find_bound(std::uint32_t handle) const noexcept;
  /// The window with this serial, or null if it has been destroyed.
  VerbsWindow* find(std::uint32_t serial) const noexcept;
  void release_device() noexcept;
  Device& device() const noexcept { return *device_; }

 private:
  friend class VerbsWindow;
  void remove(VerbsWindow& window) noexcept;

  std::shared_ptr<Device> device_;
  std::unordered_map<std::uint32_t, VerbsWindow*> windows_;
  // The windows that use a memory window of the device. The map is indexed by the upper 24 bits of the R_Key, because a
  // bind changes only the lower 8 bits.
  std::unordered_map<std::uint32_t, VerbsWindow*> by_key_;
  std::uint32_t next_serial_ = 1;
  std::random_device random_;
};

}  // namespace rpcrdma::fabric::verbs
