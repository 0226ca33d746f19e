// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <random>
#include <unordered_map>

#include "device.hpp"

namespace rpcrdma::fabric::verbs {

class WindowTable;

/// Exposes a range either through a memory window of type 2B, or, where the device has none, by a registration
/// of its own for each exposure. Belongs to the user; its queue pair knows it by its table, and takes the device's
/// part away from it when the connection ends.
class VerbsWindow final : public Window {
 public:
  enum class State : std::uint8_t { idle, bound, invalidating };

  VerbsWindow(std::shared_ptr<WindowTable> table, std::uint32_t serial, MemoryWindowHandle handle,
              std::uint32_t key_step);
  ~VerbsWindow() override;

  bool bound() const noexcept override { return state_ == State::bound; }
  Segment segment() const noexcept override { return segment_; }
  State state() const noexcept { return state_; }
  /// Names the window in its table, and no other one ever.
  std::uint32_t serial() const noexcept { return serial_; }
  bool on_device() const noexcept { return handle_ != nullptr; }

  /// By memory window: fills the bind's part of `request`. The handle is not the one used before.
  error_code prepare_bind(BufferRef memory, Access access, ibv_send_wr& request);
  /// By registration: in force at once.
  error_code expose(BufferRef memory, Access access);
  /// Gives the registration of this exposure back.
  void conceal() noexcept { registration_.reset(); }

  void set_invalidating() noexcept { state_ = State::invalidating; }
  /// No longer exposed: invalidated by us or by the peer, or the connection is gone.
  void set_idle() noexcept { state_ = State::idle; }
  /// The queue pair is about to go: a window must not outlive it on the device.
  void release_device() noexcept;

 private:
  friend class WindowTable;

  std::shared_ptr<WindowTable> table_;
  const std::uint32_t serial_;
  const std::uint32_t key_step_;  // odd, random
  MemoryWindowHandle handle_;
  Registration registration_;
  std::uint32_t key_ = 0;  // of the latest bind
  Segment segment_;
  State state_ = State::idle;
};

/// The windows of one queue pair. Shared with them, so that either may go first.
class WindowTable : public std::enable_shared_from_this<WindowTable> {
 public:
  explicit WindowTable(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Result<std::unique_ptr<Window>> make_window();
  /// The window that the peer knows by `handle` and may use now, or null.
  VerbsWindow* find_bound(std::uint32_t handle) const noexcept;
  /// Null if the window is gone.
  VerbsWindow* find(std::uint32_t serial) const noexcept;
  void release_device() noexcept;
  Device& device() const noexcept { return *device_; }

 private:
  friend class VerbsWindow;
  void remove(VerbsWindow& window) noexcept;

  std::shared_ptr<Device> device_;
  std::unordered_map<std::uint32_t, VerbsWindow*> windows_;
  std::unordered_map<std::uint32_t, VerbsWindow*> by_key_;  // by the part of the key that a bind leaves alone
  std::uint32_t next_serial_ = 1;
  std::random_device random_;
};

}  // namespace rpcrdma::fabric::verbs
