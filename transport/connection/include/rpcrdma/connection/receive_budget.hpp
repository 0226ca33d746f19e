// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>

namespace rpcrdma::transport {

/// Bounds what the receives of many connections take of a pool that serves other purposes as well. One thread.
class ReceiveBudget {
 public:
  explicit ReceiveBudget(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// Octets that a connection which holds `held` may take in addition: up to a quarter of what the others leave, so
  /// that something is left for the next one however many come.
  std::size_t offer(std::size_t held) const noexcept {
    const std::size_t others = used_ - held;
    const std::size_t most = others < capacity_ ? (capacity_ - others) / 4 : 0;
    return most > held ? most - held : 0;
  }
  /// Also beyond what is offered: each connection needs its first receives.
  void take(std::size_t octets) noexcept { used_ += octets; }
  void give_back(std::size_t octets) noexcept { used_ -= octets; }
  std::size_t used() const noexcept { return used_; }

 private:
  std::size_t capacity_;
  std::size_t used_ = 0;
};

}  // namespace rpcrdma::transport
