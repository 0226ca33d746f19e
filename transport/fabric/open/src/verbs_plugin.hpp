// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/verbs/plugin.hpp"

namespace rpcrdma::fabric {

/// Loads the verbs provider; it stays loaded. If the environment variable RPCRDMA_PLUGIN_DIR is an absolute path, only
/// that folder is searched. Otherwise three folders named rpcrdma are searched: in the library folder relative to the
/// program (usually ../lib), beside the shared library that contains this code, and where `cmake --install` puts the
/// plug-in.
///
/// Fails with FabricError::no_plugin if the plug-in is not found, no_libibverbs or no_librdmacm if rdma-core is
/// missing, and plugin_mismatch if this program cannot use the plug-in. `log` receives the details.
Result<const VerbsPlugin*> load_verbs_plugin(const Log& log);

}  // namespace rpcrdma::fabric
