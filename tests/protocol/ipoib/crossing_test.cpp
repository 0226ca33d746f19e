// SPDX-License-Identifier: BSD-3-Clause
// Two hosts request a connection to each other at the same time, on the fabric under test. RPCRDMA_TEST_ROUNDS sets the
// number of times that a request must be refused.
#include <cstdlib>

#include "bed.hpp"
#include "fabric_under_test.hpp"

namespace rpcrdma::test {
namespace {

// [4755-3.3-a] when two requests cross, one of them is refused, no packet is lost, and no resource stays in use
TEST(IpoibCrossing, LeavesNothing) {
  const char* const text = std::getenv("RPCRDMA_TEST_ROUNDS");
  const unsigned long crossings = text != nullptr ? std::strtoul(text, nullptr, 10) : 100;
  const FabricUnderTest& on = fabric_under_test();
  boost::asio::io_context context;
  const auto left = on.open(context, on.address), right = on.open(context, on.other_address);
  // If the request of a host is refused because it crosses the peer's request, the host waits for the peer's request.
  // `handshake_timeout` limits this wait. Five minutes are long enough on a slow machine.
  const ipoib::LinkOptions options{.handshake_timeout = std::chrono::minutes(5)};
  std::uint64_t refused = 0;
  std::string before;
  // A request is refused only if the two requests of a round cross. On a busy machine, the first one may arrive before
  // the second one is made. The test therefore permits more rounds than `crossings`.
  for (unsigned long round = 0; refused < crossings && round < 20 * crossings && !HasFailure(); ++round) {
    if (round == 3) before = on.held();
    {
      Host one(*left, "10.9.0.1", options, {on.address, 0}), other(*right, "10.9.0.2", options, {on.other_address, 0});
      acquaint(one, other);
      one.send(other, 100);
      other.send(one, 100);
      refused += refused_crossing(context, one, other);
    }
    run_ready(context);
  }
  EXPECT_EQ(on.held(), before);
  EXPECT_GE(refused, crossings);
}

}  // namespace
}  // namespace rpcrdma::test
