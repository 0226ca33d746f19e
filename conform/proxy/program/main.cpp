// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-proxy: a relay for iWARP connections that causes reproducible faults.
#include <fmt/format.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "options.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/cli/limits.hpp"

namespace {

using rpcrdma::error_code;
using namespace rpcrdma::proxy;

std::string text_of(const Tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  if (endpoint.address().is_v6()) return fmt::format("[{}]:{}", address, endpoint.port());
  return fmt::format("{}:{}", address, endpoint.port());
}

void print_counters(const Proxy& proxy) {
  rpcrdma::print_error("counters {}\n", proxy.counters().text());
  std::fflush(stderr);
}

/// Prints the counters at each signal. SIGUSR1 has no other effect. Every other signal of the set also stops the proxy,
/// so that the program ends.
void await_signal(boost::asio::signal_set& signals, Proxy& proxy) {
  signals.async_wait([&](error_code failed, int number) {
    if (failed) return;
    print_counters(proxy);
    if (number != SIGUSR1) return proxy.stop();
    await_signal(signals, proxy);
  });
}

int serve(Options options) {
  boost::asio::io_context context;
  const rpcrdma::Log log(rpcrdma::make_stderr_sink(options.log_level, "rpcrdma-proxy", options.log_format));
  Proxy proxy(context, options.to, std::move(options.script), options.seed, log);
  boost::asio::signal_set signals(context, SIGTERM, SIGINT, SIGUSR1);
  const auto at = proxy.listen(options.listen);
  if (!at) {
    rpcrdma::print_error("rpcrdma-proxy: cannot listen at {}: {}\n", text_of(options.listen), at.error().message());
    return EXIT_FAILURE;
  }
  await_signal(signals, proxy);
  fmt::print("ready listen={} to={} seed={}\n", text_of(*at), text_of(options.to), options.seed);
  std::fflush(stdout);
  context.run();
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  rpcrdma::cli::raise_descriptor_limit();
  int status = EXIT_SUCCESS;
  try {
    auto options = parse_options(argc, argv, status);
    return options ? serve(std::move(*options)) : status;
  } catch (const std::exception& error) {
    rpcrdma::print_error("rpcrdma-proxy: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
