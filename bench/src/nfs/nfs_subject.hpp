// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "nfs_server.hpp"
#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// The NFSv3 server with one thread, and the NFSv3 client, as the programs use them. READ and WRITE use one file in the
/// page cache, and no COMMIT is sent.
std::unique_ptr<Subject> make_nfs(const Setting& setting, ExportKind kind);

}  // namespace rpcrdma::bench
