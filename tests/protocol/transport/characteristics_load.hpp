// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A load for tests on any fabric. The client and the server call each other and change their characteristics at the
// same time, while connections are lost.
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
  /// The fabrics of the client and of the server. Both run on the io_context of run_characteristics_load().
  fabric::Fabric* client = nullptr;
  fabric::Fabric* server = nullptr;
  fabric::Endpoint local;   ///< where the server listens
  std::uint32_t calls = 0;  ///< number of calls; RPCRDMA_TEST_CALLS overrides it
  /// Returns the endpoint to which the client connects, such as a relay before `server`. If it is not set, the client
  /// connects to the server directly.
  std::function<fabric::Endpoint(const fabric::Endpoint& server)> way_to = {};
  std::function<void()> cut = {};  ///< ends the client's connection
  /// Returns how many connections the device may have ended at most. If it is not set, the device may end none.
  std::function<std::uint64_t()> other_losses = {};
};

/// Runs the load, and expects the following:
///
/// - Each forward call succeeds exactly once.
/// - A reverse call fails only if its connection is lost, or if the client has not yet announced that it accepts
///   chunks.
/// - A connection is lost only by cut(), by the device, or because a side requested smaller receives while its peer had
///   planned large messages.
/// - At the end, all memory has been released.
void run_characteristics_load(boost::asio::io_context& context, const CharacteristicsLoad& load);

}  // namespace rpcrdma::test
