// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rpcrdma::fabric::iwarp {

/// A queue of bounded length whose memory is allocated once. Elements have sequence numbers that never repeat,
/// and stay where they are while they are queued; slots are reused as they were left, so that they keep their room.
template <class T>
class Ring {
 public:
  /// Room for at least `capacity` elements. Drops what is queued.
  void reserve(std::size_t capacity) {
    std::size_t size = 1;
    while (size < capacity) size *= 2;
    slots_ = std::make_unique<T[]>(size);
    mask_ = size - 1;
    head_ = tail_ = 0;
  }

  std::uint64_t head() const noexcept { return head_; }  ///< number of the oldest element
  std::uint64_t tail() const noexcept { return tail_; }  ///< number of the next element
  std::size_t size() const noexcept { return static_cast<std::size_t>(tail_ - head_); }
  bool empty() const noexcept { return head_ == tail_; }
  bool full() const noexcept { return slots_ == nullptr || size() > mask_; }

  T& operator[](std::uint64_t number) noexcept { return slots_[number & mask_]; }
  T& front() noexcept { return (*this)[head_]; }
  /// Takes the next slot, as it was left. There must be room.
  T& push() noexcept { return (*this)[tail_++]; }
  void pop() noexcept { ++head_; }
  void clear() noexcept { head_ = tail_; }

 private:
  std::unique_ptr<T[]> slots_;
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace rpcrdma::fabric::iwarp
