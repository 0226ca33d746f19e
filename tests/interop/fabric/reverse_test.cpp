// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions of a connection at once, with chunks in the forward direction.
#include <infiniband/verbs.h>

#include "interop/fabric/verbs_bed.hpp"
#include "protocol/rpc/reverse_load.hpp"
#include "protocol/transport/log_lines.hpp"

namespace rpcrdma::test {
namespace {

/// The number of work requests that failed through no mistake of the device's user. If an acknowledgement is late, rxe
/// executes the following binds again, and these fail because their windows are already bound.
std::uint64_t failed_by_device(const LogLines& lines) {
  std::uint64_t count = 0;
  for (const ibv_wc_status status : {IBV_WC_MW_BIND_ERR, IBV_WC_RETRY_EXC_ERR})
    count += lines.with(std::string("failed: ") + ibv_wc_status_str(status)).size();
  return count;
}

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
