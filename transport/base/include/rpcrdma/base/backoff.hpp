// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <chrono>
#include <random>

namespace rpcrdma {

/// The waits between attempts, for example to connect. A bound doubles with each attempt, from `first` up to `last`.
/// Each wait is drawn at random between half the bound and the bound, so that the clients of a restarted server do not
/// reconnect all at once.
class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;
  Backoff(Milliseconds first, Milliseconds last, std::uint32_t seed) noexcept
      : first_(std::max(first, Milliseconds(1))), last_(std::max(last, first_)), bound_(first_), random_(seed) {}

  Milliseconds next() noexcept {
    const Milliseconds bound = bound_;
    bound_ = std::min(bound_ * 2, last_);
    std::uniform_int_distribution<Milliseconds::rep> draw((bound.count() + 1) / 2, bound.count());
    return Milliseconds(draw(random_));
  }
  /// To be called after a successful attempt: the bound starts again at its first value.
  void reset() noexcept { bound_ = first_; }

 private:
  Milliseconds first_;
  Milliseconds last_;
  Milliseconds bound_;
  std::minstd_rand random_;
};

}  // namespace rpcrdma
