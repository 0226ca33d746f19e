// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::loopback {

class End;

/// One window: shared by its user, the table of steering tags, and frames that pin it.
struct WindowState {
  const End* owner = nullptr;
  BufferRef memory;
  MutableOctets region;  ///< the registered region that contains `memory`
  Access access = Access::remote_read;
  Segment segment;
  bool bound = false;
  bool invalidating = false;  ///< invalidate() is posted and has not completed
  bool destroyed = false;     ///< its user has destroyed it: nothing may access the memory
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

/// Pins an exposure while a frame names it.
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
