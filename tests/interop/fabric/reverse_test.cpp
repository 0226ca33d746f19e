// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions of a connection at once, with chunks in the forward direction.
#include "interop/fabric/verbs_bed.hpp"
#include "protocol/rpc/reverse_load.hpp"

namespace rpcrdma::test {
namespace {

/// Emulated devices lose a connection when the machine has too little of the processor to answer in time: the reason is
/// in the log.
TEST(VerbsCalls, InBothDirectionsAtOnce) {
  boost::asio::io_context context;
  const auto client = open_at_device(context);
  const auto server = open_at_device(context);
  const fabric::Endpoint local{boost::asio::ip::make_address(verbs_address()), 0};
  const Log log(make_stderr_sink(LogLevel::debug, "calls"));
  run_in_both_directions(context, {client.get(), server.get(), local, calls_in_each_direction(2000), true, {}, log});
}

}  // namespace
}  // namespace rpcrdma::test
