// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/verbs/plugin.hpp"

namespace rpcrdma::fabric {
namespace {

Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                     VerbsOptions options, Log log) {
  static Verbs verbs;
  return verbs.open(context, address, options, std::move(log));
}

}  // namespace
}  // namespace rpcrdma::fabric

extern "C" __attribute__((visibility("default"))) const rpcrdma::fabric::VerbsPlugin* rpcrdma_verbs_plugin();

const rpcrdma::fabric::VerbsPlugin* rpcrdma_verbs_plugin() {
  using namespace rpcrdma::fabric;
  static constexpr VerbsPlugin kPlugin{
      .abi = kVerbsPluginAbi, .build = RPCRDMA_BUILD_ID, .device_at = &verbs_device_at, .open = &open};
  return &kPlugin;
}
