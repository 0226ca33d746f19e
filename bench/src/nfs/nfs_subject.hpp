// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "nfs_server.hpp"
#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// The NFSv3 server with one thread, and the NFSv3 client, as the programs use them. READ and WRITE use one file, which
/// stays in memory, and send no COMMIT.
std::unique_ptr<Subject> make_nfs(const Setting& setting, ExportKind kind);

}  // namespace rpcrdma::bench
