// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/verbs/plugin.hpp"

namespace rpcrdma::fabric {

/// Loads the verbs provider; the process keeps it. It is looked for in the folder that the environment variable
/// RPCRDMA_PLUGIN_DIR names, and nowhere else if that is an absolute path; then in ../lib as seen from the program,
/// beside the shared library that this code is part of, and where `cmake --install` puts it.
///
/// FabricError::no_plugin if it is nowhere, no_libibverbs or no_librdmacm if rdma-core is missing, plugin_mismatch if
/// it cannot be used by this program; `log` gets the details.
Result<const VerbsPlugin*> load_verbs_plugin(const Log& log);

}  // namespace rpcrdma::fabric
