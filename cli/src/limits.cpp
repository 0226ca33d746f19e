// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/cli/limits.hpp"

#include <sys/resource.h>

namespace rpcrdma::cli {

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace rpcrdma::cli
