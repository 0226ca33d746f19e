// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/verbs/plugin.hpp"

namespace rpcrdma::fabric {

/// Loads the plug-in that contains the verbs provider. The plug-in stays loaded. If the environment variable
/// RPCRDMA_PLUGIN_DIR is an absolute path, the function searches only that folder. Otherwise it searches these folders,
/// in this order:
///
/// - the subfolder rpcrdma of the library folder that belongs to the folder of the program (usually ../lib)
/// - the subfolder rpcrdma of the folder with the shared library that contains this code, if there is such a library
/// - the folder into which `cmake --install` puts the plug-in
///
/// Fails with FabricError::no_plugin if the plug-in is not found, no_libibverbs or no_librdmacm if rdma-core is
/// missing, and plugin_mismatch if this program cannot use the plug-in. `log` receives the details.
Result<const VerbsPlugin*> load_verbs_plugin(const Log& log);

}  // namespace rpcrdma::fabric
