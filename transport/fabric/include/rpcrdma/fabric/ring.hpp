// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace rpcrdma::fabric {

/// A FIFO queue of bounded length, for providers. Elements have sequence numbers that never repeat. Slots are reused
/// without being reset, so that they keep their allocations. Memory grows with the longest queue so far, up to the
/// bound, and is not returned; a connection that stays idle needs little memory. push() may move queued elements.
template <class T>
class Ring {
 public:
  /// Sets the bound to at least `capacity` elements. Drops all elements.
  void reserve(std::size_t capacity) {
    capacity_ = std::bit_ceil(capacity);
    resize(std::min(capacity_, kFirst));
    head_ = tail_ = 0;
  }

  std::uint64_t head() const noexcept { return head_; }  ///< number of the oldest element
  std::uint64_t tail() const noexcept { return tail_; }  ///< number of the next element
  std::size_t size() const noexcept { return static_cast<std::size_t>(tail_ - head_); }
  bool empty() const noexcept { return head_ == tail_; }
  bool full() const noexcept { return size() >= capacity_; }

  T& operator[](std::uint64_t number) noexcept { return slots_[number & mask_]; }
  T& front() noexcept { return (*this)[head_]; }
  /// Appends an element and returns its slot. The slot is not reset, so it may still hold the value of an earlier
  /// element. Requires !full().
  T& push() noexcept {
    if (size() > mask_) grow();
    return (*this)[tail_++];
  }
  void pop() noexcept { ++head_; }
  void clear() noexcept { head_ = tail_; }

 private:
  static constexpr std::size_t kFirst = 8;

  void resize(std::size_t size) {
    slots_ = std::make_unique<T[]>(size);
    mask_ = size - 1;
  }
  void grow() {
    const std::unique_ptr<T[]> old = std::move(slots_);
    const std::uint64_t old_mask = mask_;
    resize(2 * (mask_ + 1));
    for (std::uint64_t i = head_; i != tail_; ++i) (*this)[i] = std::move(old[i & old_mask]);
  }

  std::unique_ptr<T[]> slots_;
  std::size_t capacity_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace rpcrdma::fabric
