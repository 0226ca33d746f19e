// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-sim: deterministic simulation of clients and a server.

#include <cstdlib>
#include <exception>

#include "options.hpp"

#include "rpcrdma/base/print_error.hpp"

// Suppresses a report of LeakSanitizer that shows no real leak: a forked process exits before OpenSSL frees the objects
// that it has allocated for the first thread.
extern "C" {
[[gnu::visibility("default")]] const char* __lsan_default_suppressions();
[[gnu::visibility("default")]] const char* __lsan_default_options();
const char* __lsan_default_suppressions() { return "leak:CRYPTO_zalloc"; }
const char* __lsan_default_options() { return "print_suppressions=0"; }
}

int main(int argc, char** argv) {
  int status = EXIT_SUCCESS;
  try {
    const auto options = rpcrdma::sim::parse_options(argc, argv, status);
    if (!options) return status;
    return rpcrdma::sim::hunt(*options) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    rpcrdma::print_error("rpcrdma-sim: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
