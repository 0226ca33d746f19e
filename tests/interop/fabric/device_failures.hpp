// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <infiniband/verbs.h>

#include "support/log_lines.hpp"

namespace rpcrdma::test {

/// Returns the number of log lines about two kinds of failed work requests. The tests attribute both to the device. The
/// first kind are requests that the peer did not acknowledge although the device retransmitted them. The second kind
/// are failed binds. If an acknowledgement is late, rxe repeats the request and the binds that follow it. A repeated
/// bind fails because its window is bound already.
inline std::uint64_t failed_by_device(const LogLines& lines) {
  std::uint64_t count = 0;
  for (const ibv_wc_status status : {IBV_WC_MW_BIND_ERR, IBV_WC_RETRY_EXC_ERR})
    count += lines.with(std::string("failed: ") + ibv_wc_status_str(status)).size();
  return count;
}

}  // namespace rpcrdma::test
