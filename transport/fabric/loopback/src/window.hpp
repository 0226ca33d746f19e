// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::loopback {

class End;

/// The state of one window. It is shared by the user's LoopbackWindow, the table of steering tags, a posted
/// invalidation, and the frames that pin or have invalidated the window.
struct WindowState {
  const End* owner = nullptr;
  BufferRef memory;
  MutableOctets region;  ///< the registered region that contains `memory`
  Access access = Access::remote_read;
  Segment segment;
  bool bound = false;
  bool invalidating = false;  ///< invalidate() is posted and has not completed
  bool destroyed = false;     ///< the user has destroyed the LoopbackWindow: `memory` must not be accessed
  std::uint32_t pins = 0;

  /// The byte that a peer names by `offset`. The caller has checked `offset`.
  std::byte* at(std::uint64_t offset) const noexcept {
    return memory.data + static_cast<std::ptrdiff_t>(offset - segment.offset);
  }
};

class LoopbackWindow final : public Window {
 public:
  explicit LoopbackWindow(std::weak_ptr<End> end, std::shared_ptr<WindowState> state)
      : end_(std::move(end)), state_(std::move(state)) {}
  ~LoopbackWindow() override;
  bool bound() const noexcept override { return state_->bound || state_->pins != 0; }
  Segment segment() const noexcept override { return state_->segment; }
  const std::shared_ptr<WindowState>& state() const noexcept { return state_; }

 private:
  std::weak_ptr<End> end_;
  std::shared_ptr<WindowState> state_;
};

/// Held by a frame that accesses a window later, such as a half-placed Write. A Pin that refers to a window counts in
/// WindowState::pins, and until it is reset or destroyed, no invalidation of the window completes.
class Pin {
 public:
  Pin() noexcept = default;
  explicit Pin(std::shared_ptr<WindowState> window) noexcept : window_(std::move(window)) {
    if (window_) ++window_->pins;
  }
  Pin(Pin&& other) noexcept : window_(std::move(other.window_)) {}
  Pin& operator=(Pin&& other) noexcept {
    if (this != &other) {
      reset();
      window_ = std::move(other.window_);
    }
    return *this;
  }
  ~Pin() { reset(); }
  void reset() noexcept {
    if (window_) --window_->pins;
    window_.reset();
  }
  WindowState* operator->() const noexcept { return window_.get(); }
  explicit operator bool() const noexcept { return window_ != nullptr; }

 private:
  std::shared_ptr<WindowState> window_;
};

}  // namespace rpcrdma::fabric::loopback
