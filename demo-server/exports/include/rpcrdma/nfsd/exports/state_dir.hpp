// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <filesystem>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfsd {

using HandleSecret = std::array<std::byte, 16>;

/// Where the server keeps what must survive a restart: /var/lib/rpcrdma-nfsd for root, else
/// $XDG_STATE_HOME/rpcrdma-nfsd or ~/.local/state/rpcrdma-nfsd.
std::filesystem::path default_state_dir();

/// Makes the folder (mode 0700) if it is not there.
error_code make_state_dir(const std::filesystem::path& directory);

/// The secret that authenticates file handles: read from the folder, made there by the first start. A file
/// that others can read or that has another size is refused (EPERM, EINVAL).
Result<HandleSecret> load_handle_secret(const std::filesystem::path& directory);

}  // namespace rpcrdma::nfsd
