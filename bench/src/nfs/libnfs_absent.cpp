// SPDX-License-Identifier: BSD-3-Clause
#include "libnfs_subject.hpp"

namespace rpcrdma::bench {

std::unique_ptr<Subject> make_libnfs(const Setting&, TcpServer) {
  throw Unavailable("rpcrdma-bench was built without libnfs (package libnfs-dev)");
}

}  // namespace rpcrdma::bench
