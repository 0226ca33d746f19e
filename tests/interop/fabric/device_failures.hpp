// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <infiniband/verbs.h>

#include "support/log_lines.hpp"

namespace rpcrdma::test {

/// The number of log lines about work requests that failed through a fault of the device, not of its user: requests
/// whose repetitions were not acknowledged, and binds. rxe repeats the binds that follow a request whose
/// acknowledgement is late; the repeated binds fail, because the windows are bound already.
inline std::uint64_t failed_by_device(const LogLines& lines) {
  std::uint64_t count = 0;
  for (const ibv_wc_status status : {IBV_WC_MW_BIND_ERR, IBV_WC_RETRY_EXC_ERR})
    count += lines.with(std::string("failed: ") + ibv_wc_status_str(status)).size();
  return count;
}

}  // namespace rpcrdma::test
