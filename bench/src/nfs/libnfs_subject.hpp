// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

enum class TcpServer : std::uint8_t {
  ours,    ///< this project's server, with an `async` export of a directory
  ganesha  ///< nfs-ganesha on a directory
};

/// Makes a subject whose client is libnfs, connected over TCP to `server`. Throws Unavailable if libnfs was not found
/// when this program was built, or if `server` is nfs-ganesha and this machine cannot run it.
std::unique_ptr<Subject> make_libnfs(const Setting& setting, TcpServer server);

}  // namespace rpcrdma::bench
