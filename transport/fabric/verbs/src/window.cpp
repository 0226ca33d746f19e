// SPDX-License-Identifier: BSD-3-Clause
#include "window.hpp"

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

// The number of low bits of a window's key that this side chooses for each bind. The other bits identify the window
// (InfiniBand Architecture, section 10.7.2.2).
constexpr unsigned kKeyBits = 8;

std::uint64_t address_of(BufferRef memory) { return reinterpret_cast<std::uintptr_t>(memory.data); }

// The next key of a window. Each of the 256 keys occurs once before any key is repeated, in an order that differs
// between windows (a linear congruential generator of full period). ibv_inc_rkey counts up instead: a peer that has
// seen one handle would know all later handles of the window, and could access or invalidate an exposure that was never
// announced to it. Devices accept any key that differs from the last one.
std::uint32_t next_key(std::uint32_t key, std::uint32_t step) {
  constexpr std::uint32_t kMask = (1u << kKeyBits) - 1;
  return (key & ~kMask) | ((key * 5 + step) & kMask);
}

}  // namespace

VerbsWindow::VerbsWindow(std::shared_ptr<WindowTable> table, std::uint32_t serial, MemoryWindowHandle handle,
                         std::uint32_t key_step)
    : table_(std::move(table)),
      serial_(serial),
      key_step_(key_step | 1),
      handle_(std::move(handle)),
      key_(handle_ ? handle_->rkey : 0) {}

VerbsWindow::~VerbsWindow() {
  table_->remove(*this);
  release_device();
}

error_code VerbsWindow::prepare_bind(BufferRef memory, Access access, ibv_send_wr& request) {
  ibv_mr* region = table_->device().covering(memory);
  if (region == nullptr) return BaseError::invalid_argument;
  // A device library may read the present key of the window from ibv_mw::rkey. It does not store the new key there when
  // a bind is posted, so the key of the previous bind is stored here.
  handle_->rkey = key_;
  key_ = next_key(key_, key_step_);
  request.bind_mw.mw = handle_.get();
  request.bind_mw.rkey = key_;
  const unsigned rights{access == Access::remote_write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ};
  request.bind_mw.bind_info = {
      .mr = region, .addr = address_of(memory), .length = memory.size, .mw_access_flags = rights};
  segment_ = {.handle = key_, .length = memory.size, .offset = address_of(memory)};
  state_ = State::bound;
  return {};
}

error_code VerbsWindow::expose(BufferRef memory, Access access) {
  auto registration = table_->device().register_exposure(memory, access);
  if (!registration) return registration.error();
  registration_ = std::move(*registration);
  segment_ = {.handle = registration_->rkey, .length = memory.size, .offset = address_of(memory)};
  state_ = State::bound;
  return {};
}

void VerbsWindow::release_device() noexcept {
  handle_.reset();
  registration_.reset();
  state_ = State::idle;
}

Result<std::unique_ptr<Window>> WindowTable::make_window() {
  MemoryWindowHandle handle;
  if (device_->limits().windows) {
    handle.reset(ibv_alloc_mw(device_->domain(), IBV_MW_TYPE_2));
    if (!handle) return last_error();
  }
  auto window = std::make_unique<VerbsWindow>(shared_from_this(), next_serial_++, std::move(handle), random_());
  if (window->on_device()) by_key_[window->key_ >> kKeyBits] = window.get();
  windows_[window->serial()] = window.get();
  return window;
}

VerbsWindow* WindowTable::find_bound(std::uint32_t handle) const noexcept {
  const auto found = by_key_.find(handle >> kKeyBits);
  if (found == by_key_.end()) return nullptr;
  VerbsWindow* window = found->second;
  return window->state() != VerbsWindow::State::idle && window->key_ == handle ? window : nullptr;
}

VerbsWindow* WindowTable::find(std::uint32_t serial) const noexcept {
  const auto found = windows_.find(serial);
  return found == windows_.end() ? nullptr : found->second;
}

void WindowTable::release_device() noexcept {
  for (auto& [serial, window] : windows_) window->release_device();
  by_key_.clear();
}

void WindowTable::remove(VerbsWindow& window) noexcept {
  windows_.erase(window.serial());
  if (window.on_device()) by_key_.erase(window.key_ >> kKeyBits);
}

}  // namespace rpcrdma::fabric::verbs
