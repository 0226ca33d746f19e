// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <filesystem>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfsd {

using HandleSecret = std::array<std::byte, 16>;

/// The directory for what must survive a restart: /var/lib/rpcrdma-nfsd for root, else
/// $XDG_STATE_HOME/rpcrdma-nfsd or ~/.local/state/rpcrdma-nfsd.
std::filesystem::path default_state_dir();

/// Makes the directory (mode 0700) unless it exists.
error_code make_state_dir(const std::filesystem::path& directory);

/// The secret that authenticates file handles: made by the first start, read by later ones. A file that others can read
/// or of another size is refused (EPERM, EINVAL).
Result<HandleSecret> load_handle_secret(const std::filesystem::path& directory);

}  // namespace rpcrdma::nfsd
