// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "child.hpp"
#include "material.hpp"
#include "setting.hpp"

namespace rpcrdma::bench {

enum class ExportKind : std::uint8_t {
  memory,
  directory,       ///< a directory, with the export option `sync`
  directory_async  ///< a directory, with the export option `async`
};
enum class NfsPort : std::uint8_t { rdma, tcp };

/// Starts the NFSv3 server with one thread, on 127.0.0.1. It exports memory, or folder.exported(), as /bench. `port`
/// selects the port that the result names: RPC-over-RDMA or TCP. `folder` must outlive the server.
std::unique_ptr<Child> start_nfs_server(const Setting& setting, ExportKind kind, const TemporaryDirectory& folder,
                                        NfsPort port);

}  // namespace rpcrdma::bench
