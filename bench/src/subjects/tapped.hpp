// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <filesystem>
#include <memory>

#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::bench {

/// `options` with a capture to `file`, with snap=128, in a ring of two files of 512 MiB; unchanged if `file`
/// is empty. Throws std::runtime_error.
fabric::OpenOptions with_capture(fabric::OpenOptions options, const std::filesystem::path& file);

}  // namespace rpcrdma::bench
