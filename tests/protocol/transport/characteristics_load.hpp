// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Calls in both directions while both sides change their characteristics, and while connections are lost; on any
// fabric.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <random>

#include "exchange.hpp"
#include "rpcrdma/connection/characteristics.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

/// Returns the number in an environment variable, or `otherwise` if the variable is not set.
std::uint32_t number_from(const char* variable, std::uint32_t otherwise);

/// Returns a random shape. All its sizes are at most 16 KiB; small ones are more frequent.
Shape random_shape_of_calls(std::mt19937& random, std::uint32_t seed);

/// Changes characteristics at random. `random` must outlive this object.
class RandomChanges {
 public:
  explicit RandomChanges(std::mt19937& random) noexcept : random_(random) {}
  /// Requests a random change from the peer, or changes a characteristic of this side.
  void ask(transport::CharacteristicsExchange& exchange);
  std::uint64_t asked() const noexcept { return asked_; }
  std::uint64_t answered() const noexcept { return answered_; }

 private:
  std::mt19937& random_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
};

struct CharacteristicsLoad {
  fabric::Fabric* client = nullptr;  ///< both fabrics belong to one io_context
  fabric::Fabric* server = nullptr;
  fabric::Endpoint local;   ///< where the server listens
  std::uint32_t calls = 0;  ///< number of calls; RPCRDMA_TEST_CALLS overrides it
  std::function<fabric::Endpoint(const fabric::Endpoint& server)> way_to = {};  ///< default: directly
  std::function<void()> cut = {};                                               ///< loses the connection
  std::function<std::uint64_t()> other_losses = {};  ///< the most connections that the device may have ended; empty: 0
};

/// Runs the load. Expects that each forward call succeeds exactly once; that a reverse call fails only with its
/// connection, or before the client has announced that it accepts chunks; that a connection is lost only by cut(), by
/// the device, or because a side requested smaller receives while its peer had planned large messages; and that all
/// memory has been released at the end.
void run_characteristics_load(boost::asio::io_context& context, const CharacteristicsLoad& load);

}  // namespace rpcrdma::test
