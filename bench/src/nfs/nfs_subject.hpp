// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

enum class ExportKind : std::uint8_t { memory, directory };

/// The NFSv3 server with one thread, and the NFSv3 client, as the programs use them. Files are rewritten and read in
/// the page cache; nothing is committed.
std::unique_ptr<Subject> make_nfs(const Setting& setting, ExportKind kind);

}  // namespace rpcrdma::bench
