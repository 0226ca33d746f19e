// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "rpcrdma/cli/limits.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/nfsd/program/daemon.hpp"

namespace {

int serve(rpcrdma::nfsd::Options options) {
  const rpcrdma::Log log(rpcrdma::make_stderr_sink(options.log_level, "rpcrdma-nfsd", options.log_format));
  rpcrdma::nfsd::Daemon daemon(std::move(options), log);
  if (const auto started = daemon.start(); !started) {
    std::fprintf(stderr, "rpcrdma-nfsd: %s\n", started.error().text.c_str());
    return EXIT_FAILURE;
  }
  std::printf("%s\n", daemon.ready_line().c_str());
  std::fflush(stdout);
  return daemon.run();
}

}  // namespace

int main(int argc, char** argv) {
  // Clears the umask of the process, so that it takes no bits from the mode that a request gives to a new object (RFC
  // 1813 section 3.3.8). The client has already applied the umask of its user to this mode.
  ::umask(0);
  // A write to a closed connection returns an error instead of ending the process.
  std::signal(SIGPIPE, SIG_IGN);
  // SIGUSR2 starts and stops a capture. Without a capture it is ignored, instead of ending the process.
  std::signal(SIGUSR2, SIG_IGN);
  // A write beyond the size limit of files (RLIMIT_FSIZE) also returns an error.
  std::signal(SIGXFSZ, SIG_IGN);
  rpcrdma::cli::raise_descriptor_limit();
  rpcrdma::fabric::raise_locked_memory_limit();
  int exit_code = EXIT_SUCCESS;
  try {
    auto options = rpcrdma::nfsd::parse_options(argc, argv, exit_code);
    return options ? serve(std::move(*options)) : exit_code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rpcrdma-nfsd: %s\n", e.what());
    return EXIT_FAILURE;
  }
}
