// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "script.hpp"

namespace rpcrdma::proxy {

/// A random number generator. Its numbers depend on the seed and the purpose, but not on the order of events.
class Dice {
 public:
  /// Generators of the same seed with different `purpose` return different numbers.
  Dice(std::uint64_t seed, std::initializer_list<std::uint64_t> purpose) noexcept;
  std::uint64_t next() noexcept;
  /// A number from 0 to `bound` - 1.
  std::uint32_t below(std::uint32_t bound) noexcept { return static_cast<std::uint32_t>(next() % bound); }
  /// A random number from `least` to `most`; small numbers are more frequent.
  std::uint32_t between(std::uint32_t least, std::uint32_t most) noexcept;

 private:
  std::uint64_t state_;
};

/// The faults that the seed chooses for a connection; connections are counted from 1. The first connection is not cut
/// during start-up, as a client need not retry when it cannot connect at all.
std::vector<Rule> random_rules(const RandomRule& random, std::uint64_t seed, std::uint32_t connection);

}  // namespace rpcrdma::proxy
