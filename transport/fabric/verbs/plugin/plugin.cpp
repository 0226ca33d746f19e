// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/verbs/plugin.hpp"

extern "C" __attribute__((visibility("default"))) const rpcrdma::fabric::VerbsPlugin* rpcrdma_verbs_plugin();

const rpcrdma::fabric::VerbsPlugin* rpcrdma_verbs_plugin() {
  using namespace rpcrdma::fabric;
  static constexpr VerbsPlugin kPlugin{
      .abi = kVerbsPluginAbi, .build = RPCRDMA_BUILD_ID, .device_at = &verbs_device_at, .open = &open_verbs};
  return &kPlugin;
}
