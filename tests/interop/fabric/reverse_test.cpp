// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions of a connection at once, with chunks in the forward direction.
#include "interop/fabric/device_failures.hpp"
#include "interop/fabric/verbs_bed.hpp"
#include "protocol/rpc/reverse_load.hpp"

namespace rpcrdma::test {
namespace {

TEST(VerbsCalls, InBothDirectionsAtOnce) {
  boost::asio::io_context context;
  const auto lines = std::make_shared<LogLines>();
  const auto client = open_at_device(context, verbs_address(), {}, lines);
  const auto server = open_at_device(context, verbs_address(), {}, lines);
  const fabric::Endpoint local{boost::asio::ip::make_address(verbs_address()), 0};
  const Log log(make_stderr_sink(LogLevel::debug, "calls"));
  const auto most_losses = [lines] { return failed_by_device(*lines); };
  run_in_both_directions(
      context, {client.get(), server.get(), local, calls_in_each_direction(2000), true, {}, log, most_losses});
}

}  // namespace
}  // namespace rpcrdma::test
