// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>

namespace rpcrdma::transport {

/// Bounds the memory that the receives of all connections take from a pool, which has other users as well.
/// Used on one thread.
class ReceiveBudget {
 public:
  explicit ReceiveBudget(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// The number of bytes that a connection may take in addition to the `held` bytes that it already has. In total it
  /// may have up to a quarter of the bytes that the other connections do not use. The rest remains for others.
  std::size_t offer(std::size_t held) const noexcept {
    const std::size_t others = used_ - held;
    const std::size_t most = others < capacity_ ? (capacity_ - others) / 4 : 0;
    return most > held ? most - held : 0;
  }
  /// Adds `octets` to the bytes in use. `octets` may exceed the result of offer(), because a connection gets its first
  /// receives even when the budget is used up.
  void take(std::size_t octets) noexcept { used_ += octets; }
  void give_back(std::size_t octets) noexcept { used_ -= octets; }
  /// True if more than half is in use. Receives that have grown should then shrink again.
  bool is_short() const noexcept { return used_ > capacity_ / 2; }
  std::size_t used() const noexcept { return used_; }

 private:
  std::size_t capacity_;
  std::size_t used_ = 0;
};

}  // namespace rpcrdma::transport
