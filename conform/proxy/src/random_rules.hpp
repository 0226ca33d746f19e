// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "script.hpp"

namespace rpcrdma::proxy {

/// A random number generator for one purpose, such as one fault on one connection. Its numbers depend only on the seed
/// and the purpose. They are therefore the same in each run with this seed, even if events happen in another order.
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

/// Returns the rules that the proxy draws from `seed` for the connection with the number `connection`. Numbers begin at
/// 1. No rule cuts connection 1 during its start-up, because a client need not retry if its first attempt fails.
std::vector<Rule> random_rules(const RandomRule& random, std::uint64_t seed, std::uint32_t connection);

}  // namespace rpcrdma::proxy
