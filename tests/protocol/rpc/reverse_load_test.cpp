// SPDX-License-Identifier: BSD-3-Clause
// Many calls in both directions at once. RPCRDMA_E2E_SCALE=full makes 100,000 in each direction.
#include <gtest/gtest.h>

#include <random>

#include "reverse_load.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::test {
namespace {

const fabric::Endpoint kAnywhere{boost::asio::ip::make_address("127.0.0.1"), 0};

TEST(BothDirections, OverIwarp) {
  boost::asio::io_context context;
  const auto client = std::move(*fabric::open_iwarp(context, {}, {}));
  const auto server = std::move(*fabric::open_iwarp(context, {}, {}));
  run_in_both_directions(context,
                         {client.get(), server.get(), kAnywhere, calls_in_each_direction(3000), false, {}, {}});
}

class BothDirectionsOnLoopback : public testing::TestWithParam<std::uint64_t> {};

/// The connection is lost at random, about every 300 calls.
TEST_P(BothDirectionsOnLoopback, ConnectionsAreLost) {
  boost::asio::io_context context;
  fabric::LoopbackNetwork network(context, {.seed = GetParam(), .max_delay = 2});
  const auto client = network.make_fabric("client");
  const auto server = network.make_fabric("server");
  std::mt19937_64 random(GetParam());
  const auto disturb = [&] {
    if (random() % 300 == 0) network.drop_connection_after(random() % 60);
  };
  run_in_both_directions(context,
                         {client.get(), server.get(), kAnywhere, calls_in_each_direction(3000), true, disturb, {}});
  EXPECT_EQ(client->bound_windows(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BothDirectionsOnLoopback, testing::Values(1, 2, 3));

}  // namespace
}  // namespace rpcrdma::test
