// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "child.hpp"
#include "material.hpp"
#include "setting.hpp"

namespace rpcrdma::bench {

enum class ExportKind : std::uint8_t {
  memory,
  directory,       ///< with `sync`
  directory_async  ///< with `async`
};
enum class NfsPort : std::uint8_t { rdma, tcp };

/// Starts the NFSv3 server with one thread. It exports memory, or folder.exported(), as /bench. The port of the result
/// is that of RPC-over-RDMA or of TCP, on 127.0.0.1. `folder` must outlive the server.
std::unique_ptr<Child> start_nfs_server(const Setting& setting, ExportKind kind, const TemporaryDirectory& folder,
                                        NfsPort port);

}  // namespace rpcrdma::bench
