// SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>

#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::fabric {

void raise_locked_memory_limit() noexcept {
  const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) return;  // needs CAP_SYS_RESOURCE
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
}

}  // namespace rpcrdma::fabric
