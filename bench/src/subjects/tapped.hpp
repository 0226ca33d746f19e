// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <filesystem>
#include <memory>

#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::bench {

/// Returns `options` with a tap that captures to `file`. The capture has snap=128 and keeps two files of 512 MiB. If
/// `file` is empty, returns `options` unchanged. Throws std::runtime_error if the capture cannot be opened.
fabric::OpenOptions with_capture(fabric::OpenOptions options, const std::filesystem::path& file);

}  // namespace rpcrdma::bench
