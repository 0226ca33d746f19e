// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-ip: IP over RDMA connections (RFC 4755).
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "program.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/cli/limits.hpp"

namespace {

int serve(rpcrdma::ipoib::Options options) {
  const rpcrdma::Log log(rpcrdma::make_stderr_sink(options.log_level, "rpcrdma-ip", options.log_format));
  rpcrdma::ipoib::Program program(std::move(options), log);
  if (const auto failed = program.start()) {
    rpcrdma::print_error("rpcrdma-ip: {}\n", *failed);
    return EXIT_FAILURE;
  }
  fmt::print("{}\n", program.ready_line());
  std::fflush(stdout);
  return program.run();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR2, SIG_IGN);  // starts and stops a capture; without a capture it is ignored
  rpcrdma::cli::raise_descriptor_limit();
  rpcrdma::fabric::raise_locked_memory_limit();
  int status = EXIT_SUCCESS;
  try {
    auto options = rpcrdma::ipoib::parse_options(argc, argv, status);
    return options ? serve(std::move(*options)) : status;
  } catch (const std::exception& error) {
    rpcrdma::print_error("rpcrdma-ip: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
