// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions of a connection at once, with chunks in the forward direction.
#include "interop/fabric/verbs_bed.hpp"
#include "protocol/rpc/reverse_load.hpp"

namespace rpcrdma::test {
namespace {

TEST(VerbsCalls, InBothDirectionsAtOnce) {
  boost::asio::io_context context;
  const auto client = open_at_device(context);
  const auto server = open_at_device(context);
  const fabric::Endpoint local{boost::asio::ip::make_address(verbs_address()), 0};
  run_in_both_directions(context, {client.get(), server.get(), local, calls_in_each_direction(5000), {}});
}

}  // namespace
}  // namespace rpcrdma::test
