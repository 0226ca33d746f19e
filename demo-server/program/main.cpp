// SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/nfsd/program/daemon.hpp"

namespace {

/// Each connection and each open file takes a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int serve(rpcrdma::nfsd::Options options) {
  const rpcrdma::Log log(rpcrdma::make_stderr_sink(options.log_level, "rpcrdma-nfsd"));
  rpcrdma::nfsd::Daemon daemon(std::move(options), log);
  std::string why;
  if (!daemon.start(why)) {
    std::fprintf(stderr, "rpcrdma-nfsd: %s\n", why.c_str());
    return EXIT_FAILURE;
  }
  std::printf("%s\n", daemon.ready_line().c_str());
  std::fflush(stdout);
  return daemon.run();
}

}  // namespace

int main(int argc, char** argv) {
  // Clients have applied their users' masks already (RFC 1813 section 3.3.8 takes the mode as it is).
  ::umask(0);
  // A peer that closes its end is an error code, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a write beyond the size of files that this process may make (RLIMIT_FSIZE).
  std::signal(SIGXFSZ, SIG_IGN);
  raise_descriptor_limit();
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
