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

/// libnfs as the client over TCP. Throws Unavailable if libnfs was not found when this program was built, or if ganesha
/// cannot run here.
std::unique_ptr<Subject> make_libnfs(const Setting& setting, TcpServer server);

}  // namespace rpcrdma::bench
