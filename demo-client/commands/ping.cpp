// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "commands/context.hpp"

namespace rpcrdma::commands {

boost::asio::awaitable<void> run_ping(Context& context) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const Result<void> answered = co_await context.client.null();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (!answered) co_return context.report.fail(context.options.url.text(), answered.error());
  std::ostringstream server;
  server << context.client.server();
  print_out(context, fmt::format("{} answers over {} in {:.1f} us\n", server.str(), context.client.fabric_name(), us));
}

}  // namespace rpcrdma::commands
